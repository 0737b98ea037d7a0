"""The ledger: what it charges, what it refuses, what it keeps and what it shows."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import BudgetExceeded, LedgerError, RequestReused, UnknownEvent
from hedgerow.privacy.budget import GRAIN, Budget, Cost
from hedgerow.privacy.event import Approximate, Gaussian, Laplace, Nothing, Pure, Together
from hedgerow.privacy.ledger import sqlite_store as ledger_store
from hedgerow.privacy.ledger.ledger import Ledger, Receipt, Transaction, verify_export
from hedgerow.privacy.ledger.line import GENESIS, canonical, chain
from hedgerow.service.failure import Failure

PURE = Budget(epsilon=1)
MIXED = Budget(rho="1/10", delta=1e-6)


def says(answer: bytes = b"42", state: bytes | None = None) -> Callable[[], tuple[bytes, bytes | None]]:
    return lambda: (answer, state)


def never() -> tuple[bytes, None]:
    raise AssertionError("the act was carried out")


def entries(ledger: Ledger) -> int:
    return ledger.receipt().seq + 1


def one_sentence(error: pytest.ExceptionInfo[BaseException]) -> bool:
    text = str(error.value)
    return text.endswith(".") and not re.search(r"[.!?] [A-Z]", text) and "\n" not in text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.hedgerow.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.open(path, budget=PURE)


class TestOpening:
    def test_the_file_and_its_companions_are_the_owners_alone_under_any_umask(self, path: Path) -> None:
        before = os.umask(0)
        try:
            ledger = Ledger.open(path, budget=PURE)
            ledger.charge(Pure("1/10"), says())
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
        finally:
            os.umask(before)
        assert modes == {path.name + suffix: 0o600 for suffix in ("", "-wal", "-shm")}

    def test_commits_wait_for_the_disk(self, ledger: Ledger) -> None:
        ledger.charge(Pure("1/10"), says())
        connection = ledger._store._connection()
        assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)]
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]

    @pytest.mark.parametrize(
        ("name", "other"),
        [
            ("budget", Budget(epsilon=2)),
            ("budget", Budget(epsilon=1, delta=1e-9)),
            ("neighbours", "replace"),
            ("unit", "household"),
            ("max_rows", 4),
            ("null_units", "row"),
        ],
    )
    def test_reopening_with_another_value_is_refused_by_name(self, path: Path, name: str, other: Any) -> None:
        first = {"budget": PURE, "neighbours": "add_remove", "unit": "person", "max_rows": 3}
        made = Ledger.open(path, **first).settings
        with pytest.raises(LedgerError, match=name) as error:
            Ledger.open(path, **(first | {name: other}))
        assert one_sentence(error)
        assert Ledger.open(path, **first).settings == made
        assert Ledger.open(path).settings == made

    def test_settings_and_row_key_survive_reopening(self, path: Path) -> None:
        first = Ledger.open(path, budget=MIXED, neighbours="replace", unit="person", max_rows=3)
        again = Ledger.open(path, create=False)
        assert again.settings == first.settings
        assert again.budget == MIXED
        assert again.currency == "rho"
        assert len(again.row_key) == 32
        assert again.row_key == first.row_key

    def test_every_ledger_has_its_own_id_and_row_key(self) -> None:
        ledgers = [Ledger.open(":memory:", budget=PURE) for _ in range(2)]
        assert len({ledger.row_key for ledger in ledgers}) == 2
        assert len({ledger.settings.ledger for ledger in ledgers}) == 2

    def test_a_ledger_in_memory_says_that_it_is_a_simulation(self, ledger: Ledger) -> None:
        simulated = Ledger.open(":memory:", budget=PURE)
        assert simulated.simulation
        assert simulated.receipt().settings.simulation
        assert "simulation" in simulated.receipt().describe()
        assert not ledger.simulation
        assert "simulation" not in ledger.receipt().describe()

    def test_a_missing_ledger_is_not_made_unless_asked_and_paid_for(self, path: Path) -> None:
        with pytest.raises(LedgerError, match="no ledger") as error:
            Ledger.open(path, budget=PURE, create=False)
        assert one_sentence(error)
        with pytest.raises(LedgerError, match="needs a budget"):
            Ledger.open(path)
        assert list(path.parent.iterdir()) == []

    def test_a_missing_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="no such file") as error:
            Ledger.open(tmp_path / "none" / "l.db", budget=PURE)
        assert one_sentence(error)

    def test_a_file_that_is_no_ledger_is_refused_and_left_alone(self, path: Path) -> None:
        other = path.with_name("other.db")
        with sqlite3.connect(other) as database:
            database.execute("CREATE TABLE entry (seq INTEGER)")
        database.close()
        path.write_text("name,age\nada,36\n" * 100)
        path.with_name("empty").touch()
        path.with_name("folder").mkdir()
        for file in (path, other, path.with_name("empty"), path.with_name("folder")):
            content = None if file.is_dir() else file.read_bytes()
            with pytest.raises(LedgerError, match=r"not a Hedgerow ledger|cannot be used") as error:
                Ledger.open(file, budget=PURE)
            assert one_sentence(error)
            assert content is None or file.read_bytes() == content

    def test_a_newer_format_is_refused(self, path: Path) -> None:
        Ledger.open(path, budget=PURE).close()
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version=2")
        database.close()
        with pytest.raises(LedgerError, match="format 2") as error:
            Ledger.open(path)
        assert one_sentence(error)

    def test_a_folder_that_cannot_be_written_is_refused(self, tmp_path: Path) -> None:
        if os.geteuid() == 0:
            os.chmod(tmp_path.parent, 0o755)  # so that the unprivileged child can reach the folder
        os.chmod(tmp_path, 0o555)
        child = os.fork()
        if child == 0:
            verdict = 1
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)
                Ledger.open(tmp_path / "l.db", budget=PURE)
            except LedgerError as error:
                verdict = 0 if str(error).count(".") and "permission denied" in str(error) else 2
            finally:
                os._exit(verdict)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os.chmod(tmp_path, 0o755)

    def test_the_log_of_a_lost_ledger_is_not_replayed_into_a_new_one(self, path: Path) -> None:
        lost = Ledger.open(path, budget=PURE)
        lost.charge(Pure("1/2"), says())
        path.unlink()
        with pytest.raises(LedgerError, match="log of another one"):
            Ledger.open(path, budget=PURE)

    def test_a_ledger_that_was_replaced_while_open_charges_nothing(self, path: Path, ledger: Ledger) -> None:
        other = path.with_name("other")
        Ledger.open(other, budget=PURE).close()
        os.replace(other, path)
        with pytest.raises(LedgerError, match="replaced"):
            ledger.charge(Pure("1/10"), never)

    def test_a_closed_ledger_refuses(self, path: Path) -> None:
        with Ledger.open(path, budget=PURE) as ledger:
            ledger.charge(Pure("1/10"), says())
        with pytest.raises(LedgerError, match="closed"):
            ledger.spent()

    def test_a_relative_path_still_works_after_the_folder_is_left(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        ledger = Ledger.open("l.db", budget=PURE)
        monkeypatch.chdir("/")
        ledger.charge(Pure("1/10"), says())
        assert ledger.spent().amount == Fraction(1, 10)


class TestCharging:
    def test_a_charge_keeps_what_was_asked_paid_and_said(self, ledger: Ledger) -> None:
        entry = ledger.charge(
            Laplace(1, 10),
            says(b'{"n": 42}', b"secret"),
            analyst="ada",
            request="r1",
            question="how many?",
            note="first",
            run="session 1",
            content_type="application/json",
        )
        assert (entry.seq, entry.kind, entry.account, entry.analyst) == (1, "charge", "owner", "ada")
        assert (entry.answer, entry.state, entry.content_type) == (
            b'{"n": 42}',
            b"secret",
            "application/json",
        )
        assert entry.question == hashlib.sha256(b"how many?").hexdigest()
        assert entry.event == Laplace(1, 10)
        assert "Laplace" in entry.words
        assert entry.cost == entry.spent == Cost("epsilon", "1/10")
        assert not entry.replayed
        assert "secret" not in repr(entry)
        assert list(ledger.replay("session 1")) == [entry]

    def test_ten_tenths_use_the_budget_up_exactly(self, ledger: Ledger) -> None:
        for _ in range(10):
            ledger.charge(Pure(0.1), says())
        assert ledger.remaining().is_zero
        with pytest.raises(BudgetExceeded):
            ledger.charge(Pure(Fraction(1, GRAIN)), never)

    def test_a_refusal_does_not_act_and_writes_nothing(self, ledger: Ledger) -> None:
        ledger.charge(Pure("3/4"), says())
        before = ledger.receipt()
        with pytest.raises(BudgetExceeded) as error:
            ledger.charge(Pure("1/2"), never, request="r")
        assert one_sentence(error)
        assert "0.5" in str(error.value)
        assert "0.25" in str(error.value)
        assert ledger.receipt() == before
        assert ledger.recall("r", Pure("1/2")) is None

    def test_a_refusal_in_rho_also_speaks_of_epsilon_and_of_the_delta_asked(self) -> None:
        ledger = Ledger.open(":memory:", budget=Budget(epsilon=1, delta=1e-6))
        with pytest.raises(
            BudgetExceeded, match=r"epsilon 27\.\d+, but of epsilon 1 only 1 remains \(at delta 1e-6\)"
        ) as error:
            ledger.charge(Pure(4), never)
        assert one_sentence(error)
        with pytest.raises(BudgetExceeded, match=r"delta 0\.001, .* 1e-07") as error:
            ledger.charge(Approximate("1/100", "1/1000"), never)
        assert one_sentence(error)

    def test_crumbs_that_rounding_left_are_nothing(self, ledger: Ledger) -> None:
        """One wording: whoever asks for what is spent is not told to spend at most 3e-8."""
        ledger.charge(Pure(Fraction(99_999_999, 100_000_000)), says())
        with pytest.raises(BudgetExceeded, match="but nothing is left of epsilon 1") as error:
            ledger.check(Cost("epsilon", "1/2"))
        told = Failure.of(error.value).told
        assert "at most" not in told
        assert "budget raise" in told

    def test_a_refusal_by_a_hair_shows_the_hair(self, ledger: Ledger) -> None:
        with pytest.raises(BudgetExceeded, match=r"1\.0000000001"):
            ledger.check(Cost("epsilon", "1.0000000001"))

    def test_check_charges_nothing(self, ledger: Ledger) -> None:
        ledger.check(Cost("epsilon", 1))
        with pytest.raises(BudgetExceeded):
            ledger.check(Cost("epsilon", "11/10"))
        with pytest.raises(LedgerError, match="counts epsilon"):
            ledger.check(Cost("rho", "1/100"))
        assert entries(ledger) == 1

    @pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
    def test_an_act_that_fails_costs_nothing_and_leaves_the_ledger_free(
        self, path: Path, ledger: Ledger, error: BaseException, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ledger_store, "_PATIENCE", 3.0)  # a lock left behind fails soon

        def fails() -> tuple[bytes, None]:
            raise error

        before = ledger.receipt()
        with pytest.raises(type(error)):
            ledger.charge(Pure("1/2"), fails, request="r")
        assert ledger.receipt() == before
        Ledger.open(path).charge(Pure("1/2"), says(), request="r")
        assert ledger.spent().amount == Fraction(1, 2)

    def test_a_failed_act_spoils_its_transaction_even_if_swallowed(self, ledger: Ledger) -> None:
        def swallow(transaction: Transaction) -> None:
            transaction.charge(Pure("1/10"), says())
            with suppress(ZeroDivisionError):
                transaction.charge(Pure("1/10"), lambda: 1 / 0)  # type: ignore[arg-type, return-value]

        with pytest.raises(LedgerError, match="failed"), ledger.transaction() as transaction:
            swallow(transaction)
        assert entries(ledger) == 1

    def test_an_answer_that_is_not_bytes_is_refused_and_not_kept(self, ledger: Ledger) -> None:
        with pytest.raises(TypeError, match="An act returns"):
            ledger.charge(Pure("1/10"), lambda: ("42", None))  # type: ignore[arg-type, return-value]
        assert entries(ledger) == 1

    def test_the_line_is_committed_before_the_answer_is_returned_and_not_before_the_act(
        self, path: Path, ledger: Ledger
    ) -> None:
        other = Ledger.open(path)
        seen = []

        def act() -> tuple[bytes, None]:
            seen.append(other.spent().amount)
            return b"42", None

        thread = threading.Thread(target=lambda: seen.append(other.spent().amount))
        ledger.charge(Pure("1/10"), act)
        thread.start()
        thread.join()
        assert seen == [0, Fraction(1, 10)]

    def test_an_act_cannot_write_to_the_ledger(self, ledger: Ledger) -> None:
        def act() -> tuple[bytes, None]:
            ledger.charge(Pure("1/10"), says())
            return b"", None

        with pytest.raises(LedgerError, match="already open"):
            ledger.charge(Pure("1/10"), act)
        with pytest.raises(LedgerError, match="outside acts"), ledger.transaction() as transaction:
            transaction.charge(
                Pure("1/10"), lambda: (transaction.charge(Pure("9/10"), says()).answer or b"", None)
            )
        assert entries(ledger) == 1

    def test_events_that_the_currency_cannot_pay_for_are_refused_before_the_act(self, ledger: Ledger) -> None:
        with pytest.raises(UnknownEvent):
            ledger.charge(Gaussian(1, 10), never)
        with pytest.raises(UnknownEvent):
            ledger.charge(Together((Pure("1/10"), Approximate("1/10", "1/1000"))), never)
        assert entries(ledger) == 1

    def test_what_is_written_is_what_is_charged(self, ledger: Ledger) -> None:
        class Cheap(Pure):
            @property
            def epsilon(self) -> Fraction:  # type: ignore[override]
                return Fraction(0)

            def to_json(self) -> dict[str, Any]:
                return {"kind": "pure", "epsilon": "1/2"}

        cheap = object.__new__(Cheap)
        assert ledger.charge(cheap, says()).cost == Cost("epsilon", "1/2")
        assert ledger.verify().ok

    def test_several_acts_together_cost_their_sum(self) -> None:
        ledger = Ledger.open(":memory:", budget=MIXED)
        event = Together((Pure("1/10"), Gaussian(1, 10), Approximate("1/10", "1e-8")))
        assert ledger.charge(event, says()).cost == Cost("rho", Fraction(1, 200) * 3, Fraction(1, 10**8))

    def test_a_line_says_when_in_whole_seconds_of_utc(self, ledger: Ledger) -> None:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ledger.charge(Pure("1/10"), says()).time)

    @pytest.mark.parametrize("field", ["account", "analyst", "request", "run"])
    @pytest.mark.parametrize("name", ["", "a\0b", "a\nb", "\ud800"])
    def test_names_that_could_be_read_in_two_ways_are_refused_before_the_act(
        self, ledger: Ledger, field: str, name: str
    ) -> None:
        with pytest.raises(LedgerError, match="printable"):
            ledger.charge(Pure("1/10"), never, **{field: name})  # type: ignore[arg-type]

    def test_names_may_use_any_script(self, ledger: Ledger) -> None:
        name = "Åsa 😀"
        ledger.allot(name, Cost("epsilon", "1/2"))
        first = ledger.charge(Pure("1/10"), says(), account=name, analyst=name, request=name, run=name)
        again = ledger.charge(Pure("1/10"), never, account=name, analyst=name, request=name)
        assert again.hash == first.hash
        assert [entry.hash for entry in ledger.replay(name)] == [first.hash]
        assert ledger.spent(name).amount == Fraction(1, 10)


class TestRequests:
    def test_the_same_request_gets_the_same_answer_free_even_after_a_restart(
        self, path: Path, ledger: Ledger
    ) -> None:
        first = ledger.charge(Pure("1/2"), says(b"42"), request="r", question="q", analyst="ada")
        ledger.close()
        again = Ledger.open(path).charge(Pure("1/2"), never, request="r", question="q", analyst="ada")
        assert again.replayed
        assert not first.replayed
        assert (again.answer, again.hash) == (b"42", first.hash)
        assert entries(Ledger.open(path)) == 2

    def test_a_request_is_remembered_when_nothing_is_left(self, ledger: Ledger) -> None:
        ledger.allot("ada", Cost("epsilon", 1))
        ledger.charge(Pure(1), says(b"42"), account="ada", request="r", question="q")
        ledger.settle("ada")
        assert ledger.charge(Pure(1), never, account="ada", request="r", question="q").answer == b"42"

    @pytest.mark.parametrize("other", [{"question": "p"}, {"analyst": "bob"}, {"question": None}])
    def test_a_request_id_is_bound_to_its_analyst_and_question(
        self, ledger: Ledger, other: dict[str, Any]
    ) -> None:
        asked = {"request": "r", "question": "q", "analyst": "ada"}
        ledger.charge(Pure("1/10"), says(), **asked)
        with pytest.raises(RequestReused) as error:
            ledger.charge(Pure("1/10"), never, **(asked | other))
        assert one_sentence(error)
        assert entries(ledger) == 2

    def test_without_a_question_a_request_is_bound_to_its_event(self, ledger: Ledger) -> None:
        ledger.charge(Pure("1/10"), says(), request="r")
        assert ledger.charge(Pure("1/10"), never, request="r").replayed
        with pytest.raises(RequestReused):
            ledger.charge(Pure("1/5"), never, request="r")

    def test_no_request_id_means_a_new_charge_each_time(self, ledger: Ledger) -> None:
        for _ in range(2):
            ledger.charge(Pure("1/10"), says(), question="q")
        assert ledger.spent().amount == Fraction(1, 5)

    def test_free_answers_are_remembered_too(self, ledger: Ledger) -> None:
        ledger.record(b"below", request="r", question="q")
        again = ledger.record(b"other", request="r", question="q")
        assert (again.answer, again.replayed) == (b"below", True)
        recalled = ledger.recall("r", "q")
        assert recalled is not None
        assert recalled.answer == b"below"
        with pytest.raises(RequestReused):
            ledger.recall("r", "q", analyst="bob")


class TestTransactions:
    def test_lines_of_a_transaction_are_kept_together_or_not_at_all(self, ledger: Ledger) -> None:
        with ledger.transaction() as transaction:
            transaction.charge(Pure("1/10"), says(b"above", b"threshold"), run="s")
            transaction.record(b"42", b"state", run="s", note="value")

        def too_much(transaction: Transaction) -> None:
            transaction.record(b"lost", run="s")
            transaction.charge(Pure("1/10"), says(b"lost"), run="s")
            transaction.charge(Pure(1), never, run="s")

        with pytest.raises(BudgetExceeded), ledger.transaction() as transaction:
            too_much(transaction)
        assert [(e.answer, e.state) for e in ledger.replay("s")] == [
            (b"above", b"threshold"),
            (b"42", b"state"),
        ]
        assert ledger.spent().amount == Fraction(1, 10)
        assert ledger.verify().ok

    def test_a_transaction_ends(self, ledger: Ledger) -> None:
        with ledger.transaction() as transaction:
            pass
        with pytest.raises(LedgerError, match="until it ends"):
            transaction.record(b"late")
        with pytest.raises(LedgerError, match="until it ends"):
            transaction.charge(Pure("1/10"), never)

    def test_a_transaction_belongs_to_its_thread(self, ledger: Ledger) -> None:
        errors: list[Exception] = []

        def elsewhere() -> None:
            try:
                transaction.charge(Pure("1/10"), never)
            except LedgerError as error:
                errors.append(error)

        with ledger.transaction() as transaction:
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
        assert len(errors) == 1
        assert entries(ledger) == 1

    def test_free_records_cost_nothing_and_need_not_wait(self, path: Path, ledger: Ledger) -> None:
        ledger.record(b"below", durable=False)
        connection = ledger._store._connection()
        assert connection.execute("PRAGMA synchronous").fetchall() == [(1,)]
        assert ledger.spent().is_zero
        assert entries(Ledger.open(path)) == 2
        ledger.charge(Pure("1/10"), says())
        assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)]

    def test_a_receipt_waits_until_the_file_alone_holds_the_lines_it_vouches_for(
        self, path: Path, ledger: Ledger
    ) -> None:
        ledger.record(b"below", durable=False)
        with Ledger.open(shutil.copy(path, path.with_name("before")), create=False) as before:
            assert entries(before) == 1
        receipt = ledger.receipt()
        with Ledger.open(shutil.copy(path, path.with_name("after")), create=False) as after:
            assert after.verify(receipt).ok

    def test_what_moves_budget_always_waits_for_the_disk(self, ledger: Ledger) -> None:
        ledger.allot("ada", Cost("epsilon", "1/10"))
        moves: list[Callable[[Any], object]] = [
            lambda t: t.charge(Pure("1/10"), never),
            lambda t: t.allot("bob", Cost("epsilon", "1/10")),
            lambda t: t.settle("ada"),
            lambda t: t.raise_budget(Budget(epsilon=2), "more"),
        ]
        for move in moves:
            with (
                pytest.raises(LedgerError, match="durable"),
                ledger.transaction(durable=False) as transaction,
            ):
                move(transaction)

    def test_a_run_can_be_read_again_while_it_goes_on(self, path: Path, ledger: Ledger) -> None:
        for i in range(600):
            ledger.record(str(i).encode(), bytes([i % 256]), run="s" if i % 2 else "other", durable=False)
        ledger.close()
        again = Ledger.open(path)
        seen = []
        for entry in again.replay("s"):
            seen.append(entry.answer)
            if len(seen) == 1:
                again.charge(Pure("1/10"), says(), run="other")
        assert seen == [str(i).encode() for i in range(1, 600, 2)]
        assert next(again.replay("s")).state == b"\1"
        assert list(again.replay("nobody's")) == []


class TestAccounts:
    def test_an_allotment_is_spent_at_the_parent_and_bounds_the_child(self, ledger: Ledger) -> None:
        ledger.allot("ada", Cost("epsilon", "1/2"))
        assert ledger.remaining().amount == Fraction(1, 2)
        ledger.charge(Pure("1/4"), says(), account="ada")
        assert ledger.remaining("ada").amount == Fraction(1, 4)
        assert ledger.remaining().amount == Fraction(1, 2)
        with pytest.raises(BudgetExceeded, match="'ada'"):
            ledger.charge(Pure("1/2"), never, account="ada")
        with pytest.raises(BudgetExceeded):
            ledger.charge(Pure("3/4"), never)

    def test_settling_returns_what_was_not_spent_and_closes(self, ledger: Ledger) -> None:
        ledger.allot("ada", Cost("epsilon", "1/2"))
        ledger.charge(Pure("1/8"), says(), account="ada")
        ledger.settle("ada")
        assert ledger.spent().amount == Fraction(1, 8)
        assert ledger.remaining("ada").is_zero
        for refused in (
            lambda: ledger.charge(Pure("1/8"), never, account="ada"),
            lambda: ledger.record(b"", account="ada"),
            lambda: ledger.allot("bob", Cost("epsilon", "1/8"), parent="ada"),
            lambda: ledger.settle("ada"),
        ):
            with pytest.raises(LedgerError, match="closed"):
                refused()
        assert ledger.verify().ok

    def test_settling_a_parent_settles_those_below_it_first(self, ledger: Ledger) -> None:
        ledger.allot("team", Cost("epsilon", "1/2"))
        ledger.allot("ada", Cost("epsilon", "1/4"), parent="team")
        ledger.allot("bob", Cost("epsilon", "1/8"), parent="team")
        ledger.charge(Pure("1/16"), says(), account="ada")
        ledger.settle("bob")
        ledger.settle("team")
        assert ledger.spent().amount == Fraction(1, 16)
        with pytest.raises(LedgerError, match="closed"):
            ledger.charge(Pure("1/16"), never, account="ada")
        assert ledger.verify().ok

    def test_names_are_never_used_twice(self, ledger: Ledger) -> None:
        ledger.allot("ada", Cost("epsilon", "1/10"))
        for name in ("ada", "owner"):
            with pytest.raises(LedgerError, match="already been"):
                ledger.allot(name, Cost("epsilon", "1/10"))
        ledger.settle("ada")
        with pytest.raises(LedgerError, match="already been"):
            ledger.allot("ada", Cost("epsilon", "1/10"))

    def test_unknown_accounts_and_the_owners_end_are_refused(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match="no account"):
            ledger.charge(Pure("1/10"), never, account="nobody")
        with pytest.raises(LedgerError, match="no account"):
            ledger.spent("nobody")
        with pytest.raises(LedgerError, match="stays open"):
            ledger.settle("owner")

    def test_an_allotment_that_the_parent_cannot_afford_is_refused(self, ledger: Ledger) -> None:
        ledger.allot("team", Cost("epsilon", "1/2"))
        with pytest.raises(BudgetExceeded):
            ledger.allot("ada", Cost("epsilon", "3/4"), parent="team")
        with pytest.raises(BudgetExceeded):
            ledger.allot("ada", Cost("epsilon", "3/4"))

    def test_deltas_are_allotted_and_returned_as_well(self) -> None:
        ledger = Ledger.open(":memory:", budget=MIXED)
        ledger.allot("ada", Cost("rho", "1/100", "1e-8"))
        assert ledger.spent() == Cost("rho", "1/100", "1e-8")
        with pytest.raises(BudgetExceeded, match="delta"):
            ledger.charge(Approximate("1/100", "1e-7"), never, account="ada")
        ledger.charge(Approximate("1/100", "1e-9"), says(), account="ada")
        ledger.settle("ada")
        assert ledger.spent() == Cost("rho", "1/20000", "1e-9")

    def test_the_budget_is_raised_for_a_reason_and_never_lowered(self, path: Path, ledger: Ledger) -> None:
        ledger.charge(Pure(1), says())
        with pytest.raises(LedgerError, match="reason"):
            ledger.raise_budget(Budget(epsilon=2), " ")
        for wrong in (Budget(epsilon="1/2"), Budget(epsilon=1), Budget(epsilon=2, delta=1e-6)):
            with pytest.raises(LedgerError) as error:
                ledger.raise_budget(wrong, "a new wave of the survey")
            assert one_sentence(error)
        entry = ledger.raise_budget(Budget(epsilon=2), "a new wave of the survey")
        assert (entry.kind, entry.note) == ("raise", "a new wave of the survey")
        assert Ledger.open(path, budget=Budget(epsilon=2)).remaining().amount == 1
        ledger.charge(Pure(1), says())
        with pytest.raises(LedgerError, match="budget"):
            Ledger.open(path, budget=PURE)
        assert ledger.verify(ledger.receipt()).ok

    def test_a_raised_rho_budget_has_the_new_capacity(self) -> None:
        ledger = Ledger.open(":memory:", budget=Budget(epsilon=1, delta=1e-6))
        ledger.raise_budget(Budget(epsilon=2, delta=1e-6), "more")
        assert ledger.remaining() == Budget(epsilon=2, delta=1e-6).cost


def busy_ledger(path: Path | str) -> Ledger:
    """A ledger with every kind of line."""
    ledger = Ledger.open(path, budget=MIXED, unit="person", max_rows=2)
    for i in range(3):
        ledger.charge(Gaussian(1, 20), says(f"answer {i}".encode(), b"secret"), request=f"r{i}", run="s")
    ledger.record(b"below", b"threshold", run="s")
    ledger.allot("ada", Cost("rho", "1/100", "1e-8"))
    ledger.charge(Approximate("1/100", "1e-9"), says(), account="ada")
    ledger.raise_budget(Budget(rho="1/5", delta=2e-6), "more")
    ledger.settle("ada")
    return ledger


def tamper(path: Path, *statements: str) -> None:
    """Change a ledger behind its back, as somebody with the file could."""
    database = sqlite3.connect(path)
    for trigger in ("never_update", "never_delete", "only_append"):
        database.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


Lines = list[dict[str, Any]]


def forge(ledger: Ledger, change: Callable[[Lines], Lines | None]) -> dict[str, Any]:
    """An export whose lines were changed and then numbered and chained anew, so that only sums can tell."""
    export = ledger.export()
    lines = [entry["line"] for entry in export["entries"]]
    lines = change(lines) or lines
    previous, forged = GENESIS, []
    for seq, line in enumerate(lines):
        line["seq"] = seq
        commitment = bytes(32)
        previous = chain(previous, canonical(line), commitment)
        forged.append({"line": line, "commitment": commitment.hex(), "hash": previous.hex()})
    return export | {"entries": forged}


class TestVerification:
    def test_an_honest_ledger_verifies_with_all_its_receipts(self, path: Path) -> None:
        receipts = []
        for ledger in (Ledger.open(path, budget=MIXED, unit="person", max_rows=2), busy_ledger(path)):
            receipts.append(ledger.receipt())
        for receipt in receipts:
            verification = Ledger.open(path).verify(receipt)
            assert verification.ok, verification.describe()
            assert verification.spent == ledger.spent()
            assert verification.entries == entries(ledger)

    def test_lines_cannot_be_changed_removed_or_replaced_by_sql(self, path: Path) -> None:
        busy_ledger(path)
        database = sqlite3.connect(path)
        columns = "seq, line, commitment, hash, nonce"
        for statement in (
            "UPDATE entry SET answer = x'00' WHERE seq = 1",
            "DELETE FROM entry WHERE seq = 1",
            f"INSERT OR REPLACE INTO entry ({columns}) SELECT {columns} FROM entry WHERE seq = 1",
            f"INSERT INTO entry ({columns}) SELECT seq + 1000, line, commitment, hash, nonce FROM entry",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="ledger lines are"):
                database.execute(statement)
        database.close()

    @pytest.mark.parametrize(
        ("statement", "complaint"),
        [
            ("UPDATE entry SET line = replace(line, 'r1', 'r9') WHERE seq = 2", "Line 2: the chain breaks"),
            ("UPDATE entry SET line = '{}' WHERE seq = 2", "Line 2: the line cannot be read"),
            (
                "UPDATE entry SET line = ' ' || line WHERE seq = 2",
                "the line is not in its written form",
            ),
            ("UPDATE entry SET answer = x'00' WHERE seq = 2", "Line 2: its answer was changed"),
            ("UPDATE entry SET answer = NULL WHERE seq = 2", "Line 2: its answer is gone"),
            ("UPDATE entry SET state = x'00' WHERE seq = 2", "Line 2: its secret state was changed"),
            ("UPDATE entry SET state = x'00' WHERE seq = 0", "Line 0: its secret state was changed"),
            ("UPDATE entry SET nonce = zeroblob(32) WHERE seq = 2", "Line 2: its secret state was changed"),
            ("UPDATE entry SET commitment = zeroblob(32) WHERE seq = 2", "Line 2: the chain breaks"),
            ("UPDATE entry SET hash = zeroblob(32) WHERE seq = 2", "Line 2: the chain breaks"),
            ("DELETE FROM entry WHERE seq = 2", "Line 3: line 2 was expected here"),
        ],
    )
    def test_an_edited_or_removed_line_is_found(self, path: Path, statement: str, complaint: str) -> None:
        busy_ledger(path).close()
        tamper(path, statement)
        verification = Ledger.open(path).verify()
        assert not verification.ok
        assert complaint in verification.describe()

    def test_a_removed_tail_is_found_with_a_receipt(self, path: Path) -> None:
        ledger = busy_ledger(path)
        ledger.charge(Gaussian(1, 20), says())
        receipt = ledger.receipt()
        ledger.close()
        tamper(path, f"DELETE FROM entry WHERE seq = {receipt.seq}")
        assert Ledger.open(path).verify().ok  # nothing inside the file can tell
        assert "lines were removed" in Ledger.open(path).verify(receipt).describe()

    @pytest.mark.parametrize("continued", [False, True])
    def test_an_old_copy_put_back_is_found_with_a_receipt(self, path: Path, continued: bool) -> None:
        busy_ledger(path).close()
        copy = path.with_name("copy")
        shutil.copy(path, copy)
        ledger = Ledger.open(path)
        ledger.charge(Gaussian(1, 20), says(), request="new")
        receipt = ledger.receipt()
        ledger.close()
        os.replace(copy, path)
        restored = Ledger.open(path)
        if continued:
            restored.charge(Gaussian(1, 20), says(), request="new")
            restored.charge(Gaussian(1, 20), says())
        assert restored.verify().ok
        assert "old copy" in restored.verify(receipt).describe()

    def test_a_receipt_of_another_ledger_is_told_apart(self, path: Path) -> None:
        other = busy_ledger(":memory:")
        assert "another ledger" in busy_ledger(path).verify(other.receipt()).describe()
        other.charge(Gaussian(1, 20), says())
        assert "another ledger" in Ledger.open(path).verify(other.receipt()).describe()

    def test_an_embellished_receipt_is_told_apart(self, path: Path) -> None:
        ledger = busy_ledger(path)
        said = ledger.receipt().to_json()
        for change in ({"spent": Cost.zero("rho").to_json()}, {"max_rows": 1}, {"neighbours": "replace"}):
            verification = ledger.verify(Receipt.from_json(said | change))
            assert "does not say" in verification.describe()

    def test_receipts_survive_json(self, path: Path) -> None:
        receipt = busy_ledger(path).receipt()
        assert Receipt.from_json(json.loads(json.dumps(receipt.to_json()))) == receipt
        assert receipt.settings.ledger in receipt.describe()
        assert receipt.head in receipt.describe()
        assert receipt.settings.budget.promises(Budget(rho="1/5", delta=2e-6))


def charge_lines(lines: Lines) -> Lines:
    return [line for line in lines if line["kind"] == "charge"]


def cheaper(lines: Lines) -> None:
    charge_lines(lines)[1]["cost"]["rho"] = "1"


def cheaper_throughout(lines: Lines) -> None:
    cut = int(lines[2]["cost"]["rho"]) - 1
    for line in lines[2:]:
        if line["account"] == "owner":
            line["spent"]["rho"] = str(int(line["spent"]["rho"]) - cut)
    lines[2]["cost"]["rho"] = "1"


def weaker_event(lines: Lines) -> None:
    lines[2]["event"]["sigma"] = "2000/1"


def smaller_total(lines: Lines) -> None:
    lines[3]["spent"]["rho"] = lines[2]["spent"]["rho"]


def twice_the_request(lines: Lines) -> None:
    lines[3]["request"] = lines[2]["request"]


def costly_note(lines: Lines) -> None:
    lines[4]["event"] = lines[3]["event"]


def larger_limit(lines: Lines) -> None:
    lines[2]["limit"]["rho"] = str(10 * int(lines[2]["limit"]["rho"]))


def larger_child(lines: Lines) -> None:
    lines[6]["limit"]["rho"] = str(10 * int(lines[6]["limit"]["rho"]))


def child_of_nobody(lines: Lines) -> Lines:
    return lines[:5] + lines[6:]


def child_of_another(lines: Lines) -> None:
    lines[6]["parent"] = "ada"


def half_an_allotment(lines: Lines) -> Lines:
    return lines[:6]


def half_a_settlement(lines: Lines) -> Lines:
    return lines[:-1]


def larger_return(lines: Lines) -> None:
    more = int(lines[-1]["spent"]["rho"])
    lines[-1]["cost"]["rho"] = str(int(lines[-1]["cost"]["rho"]) + more)
    lines[-1]["spent"]["rho"] = "0"


def return_twice(lines: Lines) -> Lines:
    return [*lines, dict(lines[-1])]


def charge_after_closing(lines: Lines) -> Lines:
    return [*lines, dict(lines[7])]


def raise_without_reason(lines: Lines) -> None:
    lines[8]["note"] = ""


def lowered_budget(lines: Lines) -> None:
    lines[8]["details"] = Budget(rho="1/20", delta=1e-6).to_json()
    for line in lines[8:]:
        if line["account"] == "owner":
            line["limit"] = lines[8]["limit"] | {"rho": str(GRAIN // 20)}


def larger_opening(lines: Lines) -> None:
    lines[0]["limit"]["rho"] = str(GRAIN)


def overspent(lines: Lines) -> Lines:
    lines = [*lines[:2], *[json.loads(json.dumps(lines[1])) for _ in range(90)]]
    for i, line in enumerate(lines[1:], start=1):
        line |= {"request": None, "spent": line["spent"] | {"rho": str(i * int(line["cost"]["rho"]))}}
    return lines


class TestExport:
    FORGERIES = (
        (cheaper, "its cost is not"),
        (cheaper_throughout, "its cost is not"),
        (weaker_event, "its cost is not"),
        (smaller_total, "its totals do not follow"),
        (twice_the_request, "comes a second time"),
        (costly_note, "its cost is not"),
        (larger_limit, "its totals do not follow"),
        (larger_child, "'open' for account 'ada' must come"),
        (child_of_nobody, "nothing before it calls for"),
        (child_of_another, "'open' for account 'ada' must come"),
        (half_an_allotment, "must follow"),
        (half_a_settlement, "must follow"),
        (larger_return, "'return' for account 'owner' must come"),
        (return_twice, "nothing before it calls for"),
        (charge_after_closing, "account is not open"),
        (raise_without_reason, "has no lines of kind 'raise'"),
        (lowered_budget, "does not raise the budget"),
        (larger_opening, "does not open a ledger"),
        (overspent, "spends more than there is"),
    )

    def test_an_export_verifies_alone_and_against_a_receipt(self, path: Path) -> None:
        ledger = busy_ledger(path)
        for answers in (False, True):
            export = json.loads(json.dumps(ledger.export(answers=answers)))
            verification = verify_export(export, ledger.receipt())
            assert verification.ok, verification.describe()
            assert verification.spent == ledger.spent()
        assert verify_export(forge(ledger, lambda lines: lines)).ok

    @pytest.mark.parametrize(("change", "complaint"), FORGERIES, ids=lambda x: getattr(x, "__name__", ""))
    def test_a_forged_line_with_a_fresh_chain_is_found_by_its_sums(
        self, change: Callable[[Lines], Lines | None], complaint: str
    ) -> None:
        verification = verify_export(forge(busy_ledger(":memory:"), change))
        assert complaint in verification.describe()

    def test_a_changed_or_shortened_export_is_found(self) -> None:
        ledger = busy_ledger(":memory:")
        export = ledger.export(answers=True)
        export["entries"][1]["answer"] = base64.b64encode(b"43").decode()
        assert "its answer was changed" in verify_export(export).describe()
        export = ledger.export()
        export["entries"][1]["line"]["note"] = "edited"
        assert "the chain breaks" in verify_export(export).describe()
        export = ledger.export()
        del export["entries"][-2:]
        assert verify_export(export).ok
        assert "lines were removed" in verify_export(export, ledger.receipt()).describe()

    @pytest.mark.parametrize("junk", [{}, {"hedgerow_ledger": 1}, {"hedgerow_ledger": 2, "entries": []}])
    def test_what_is_no_export_is_told_apart(self, junk: dict[str, Any]) -> None:
        assert not verify_export(junk).ok

    def test_an_empty_export_does_not_verify(self) -> None:
        assert "no lines" in verify_export({"hedgerow_ledger": 1, "entries": []}).describe()

    def test_an_export_holds_nothing_secret(self, path: Path) -> None:
        ledger = busy_ledger(path)
        text = json.dumps(ledger.export(answers=True)).lower()
        database = sqlite3.connect(path)
        secrets = database.execute("SELECT nonce, state FROM entry").fetchall()
        database.close()
        assert ledger.row_key in {state for _, state in secrets}
        for secret in {value for row in secrets for value in row if value}:
            for form in (secret.hex(), base64.b64encode(secret).decode().lower()):
                assert form not in text
        assert base64.b64encode(b"answer 1").decode().lower() in text
        assert base64.b64encode(b"answer 1").decode().lower() not in json.dumps(ledger.export()).lower()

    def test_a_low_entropy_state_cannot_be_found_by_search(self) -> None:
        ledger = Ledger.open(":memory:", budget=PURE)
        for _ in range(2):
            ledger.charge(Pure("1/10"), says(b"", b"17"))
        commitments = [entry["commitment"] for entry in ledger.export()["entries"][1:]]
        assert len(set(commitments)) == 2
        assert hashlib.sha256(b"17").hexdigest() not in commitments

    def test_settings_are_on_the_chain(self) -> None:
        export = busy_ledger(":memory:").export()
        export["entries"][0]["line"]["details"]["max_rows"] = 1
        assert "Line 0: the chain breaks" in verify_export(export).describe()


class TestSharing:
    @pytest.mark.parametrize("memory", [False, True])
    def test_threads_share_a_ledger_and_never_overspend(self, path: Path, memory: bool) -> None:
        ledger = Ledger.open(":memory:" if memory else path, budget=Budget(epsilon=1))
        paid: list[int] = []

        def spend() -> None:
            try:
                while True:
                    paid.append(ledger.charge(Pure("1/100"), says()).seq)
            except BudgetExceeded:
                pass

        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(paid) == list(range(1, 101))
        assert ledger.remaining().is_zero
        assert ledger.verify().ok

    def test_a_forked_child_uses_a_connection_of_its_own(self, path: Path, ledger: Ledger) -> None:
        ledger.charge(Pure("1/10"), says())
        child = os.fork()
        if child == 0:
            try:
                parents = ledger._store._local.connection
                ledger.charge(Pure("1/10"), says())
                os._exit(0 if ledger._store._local.connection is not parents else 3)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        ledger.charge(Pure("1/10"), says())
        assert ledger.spent().amount == Fraction(3, 10)
        assert ledger.verify().ok

    def test_a_simulated_ledger_does_not_cross_a_fork(self) -> None:
        ledger = Ledger.open(":memory:", budget=PURE)
        child = os.fork()
        if child == 0:
            try:
                ledger.charge(Pure("1/10"), never)
            except LedgerError:
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    def test_nothing_is_an_event_that_costs_nothing(self, ledger: Ledger) -> None:
        assert ledger.charge(Nothing(), says()).cost.is_zero
