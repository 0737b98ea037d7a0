"""The ledger in PostgreSQL: the contract of every store, and what only a database can do wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, HedgerowError, LedgerError, LedgerUnavailable
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.limit import set_limit
from hedgerow.privacy.ledger.postgres_store import PostgresStore
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.testing import contracts
from services.cutting import Cutter
from services.postgres import Cluster, fresh_name, shared

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.timeout(240)]
BUDGET = Budget(epsilon=1)


def new_place() -> Callable[[], Any]:
    url = shared().url(fresh_name())
    return lambda: url


def store_of(ledger: Ledger) -> PostgresStore:
    assert isinstance(ledger._store, PostgresStore)
    return ledger._store


def says(answer: bytes = b"42") -> Callable[[], tuple[bytes, None]]:
    return lambda: (answer, None)


def open_new(postgres: Cluster, **more: Any) -> Ledger:
    return Ledger.open(postgres.url(fresh_name(), **more), budget=BUDGET)


@pytest.mark.parametrize("check", contracts.store_checks(new_place), ids=str)
def test_it_keeps_the_contract_of_every_store(postgres: Cluster, check: Any) -> None:
    check()


def test_lines_in_a_long_ledger_are_found_by_a_process_that_has_read_few_of_them(postgres: Cluster) -> None:
    with open_new(postgres) as ledger:
        set_limit(ledger, "ann", Cost("epsilon", Fraction(1, 4)))
        ledger.charge(Pure("1/100"), says(), request="early", run="first", account="ann", analyst="ann")
        ledger.raise_budget(Budget(epsilon=2), "more")
        with ledger.transaction() as together:
            for i in range(2300):
                together.record(str(i).encode(), run="long", request=f"r{i}")
        url = str(store_of(ledger).url)
        with Ledger.open(url, create=False) as other:
            walked = list(ledger._store.lines())
            store = store_of(other)
            assert [n.seq for n in store.lines("long")] == [n.seq for n in walked if n.field("run") == "long"]
            assert [n.seq for n in store.lines(after=2290)] == [n.seq for n in walked[2291:]]
            assert store.requested("early") == ledger._store.requested("early")
            assert store.requested("r7") == ledger._store.requested("r7")
            assert store.requested("r2300") is None
            assert store.last("ann") == ledger._store.last("ann")
            assert store.raised(3) is None
            assert other.budget == ledger.budget
            assert other.remaining("ann") == ledger.remaining("ann")
            assert other.verify(ledger.receipt()).ok
            before = store.trips
            assert other.children() == ["ann"]
            with pytest.raises(BudgetExceeded), store.turn():
                other.charge(Pure("1/2"), says(), account="ann", analyst="ann")
            assert store.trips - before <= 4


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {0}.entry SET note = 1",
        "UPDATE {0}.entry SET answer = NULL WHERE seq = 1",
        "DELETE FROM {0}.entry WHERE seq = 1",
        "DELETE FROM {0}.entry",
        "TRUNCATE {0}.entry",
        "TRUNCATE {0}.entry, {0}.head",
        "UPDATE {0}.head SET seq = 0",
        "DELETE FROM {0}.head",
        "INSERT INTO {0}.entry (seq, line, commitment, hash, nonce) VALUES (1, '{{}}', '', '', '')",
        "INSERT INTO {0}.entry (seq, line, commitment, hash, nonce) VALUES (2, '{{}}', '', '', '')",
        "INSERT INTO {0}.entry SELECT 2, line, commitment, hash, answer, nonce FROM {0}.entry WHERE seq = 1",
    ],
)
def test_the_database_itself_refuses_to_change_remove_or_forge_a_line(
    postgres: Cluster, statement: str
) -> None:
    import psycopg

    with open_new(postgres) as ledger:
        ledger.charge(Pure("1/4"), says())
        before = ledger.receipt()
        with pytest.raises(psycopg.Error):
            postgres.execute(statement.format(store_of(ledger).url.name))
        assert ledger.verify(before).ok
        assert ledger.receipt() == before


def test_an_administrator_who_switches_triggers_off_is_seen_by_verify(postgres: Cluster) -> None:
    with open_new(postgres) as ledger:
        ledger.charge(Pure("1/4"), says())
        name = store_of(ledger).url.name
        postgres.execute(f"ALTER TABLE {name}.entry DISABLE TRIGGER never_change")
        assert "triggers" in ledger.verify().describe()
        postgres.execute(f"UPDATE {name}.entry SET line = replace(line, '1', '2') WHERE seq = 1")
        assert len(ledger.verify().problems) > 1


@contextmanager
def other_cluster(folder: Path, **settings: str) -> Iterator[Cluster]:
    """A cluster of its own, for one test."""
    cluster = Cluster(folder / "c", settings).make().start()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that whoever runs PostgreSQL can reach."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="hedgerow-pg-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_database_that_does_not_keep_what_it_commits_is_refused(postgres: Cluster, outside: Path) -> None:
    with other_cluster(outside, fsync="off") as cluster:
        with pytest.raises(LedgerError, match="fsync=off") as error:
            Ledger.open(cluster.url(), budget=BUDGET)
        assert not isinstance(error.value, LedgerUnavailable)


def test_commits_wait_for_the_disk_although_the_database_would_not(postgres: Cluster) -> None:
    """The session sets synchronous_commit for itself, whatever the role's default is."""
    role = fresh_name()
    postgres.execute(f"CREATE ROLE {role} LOGIN SUPERUSER")
    postgres.execute(f"ALTER ROLE {role} SET synchronous_commit = off")
    with open_new(postgres, user=role) as ledger:
        ledger.charge(Pure("1/4"), says())
        link = store_of(ledger)._borrow()
        assert link.trip(("SHOW synchronous_commit", ()))[0] == [("on",)]


def test_whoever_may_not_make_a_schema_is_told_so_in_one_sentence(postgres: Cluster) -> None:
    role = fresh_name()
    postgres.execute(f"CREATE ROLE {role} LOGIN")
    with pytest.raises(HedgerowError, match="permission denied") as error:
        open_new(postgres, user=role)
    assert error.value.code == "not_permitted"
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger.open(postgres.url(fresh_name()), create=False)


def test_a_role_with_few_rights_can_charge_and_cannot_change(postgres: Cluster) -> None:
    import psycopg

    role = fresh_name()
    postgres.execute(f"CREATE ROLE {role} LOGIN")
    with open_new(postgres) as ledger:
        name = store_of(ledger).url.name
        postgres.execute(f"GRANT USAGE ON SCHEMA {name} TO {role}")
        postgres.execute(f"GRANT SELECT, INSERT ON {name}.entry TO {role}")
        postgres.execute(
            f"GRANT SELECT, UPDATE ON {name}.head TO {role}; GRANT SELECT ON {name}.seat TO {role}"
        )
        with Ledger.open(postgres.url(name, user=role), create=False) as theirs:
            theirs.charge(Pure("1/4"), says())
        assert ledger.spent().amount == Fraction(1, 4)
        with pytest.raises(psycopg.Error):
            postgres.execute(f"ALTER TABLE {name}.entry DISABLE TRIGGER ALL", user=role)


def test_without_the_driver_one_sentence_says_what_to_install(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(HedgerowError, match=r"pip install 'hedgerow\[postgres\]'"):
        Ledger.open(postgres.url(fresh_name()), budget=BUDGET)


def test_a_server_that_is_away_may_come_back(postgres: Cluster) -> None:
    url = postgres.url(fresh_name(), host="127.0.0.1").replace(f":{postgres.port}/", ":1/")
    with pytest.raises(LedgerUnavailable):
        Ledger.open(url, budget=BUDGET)


def test_data_that_a_file_knows_gets_no_second_budget_in_a_database(
    postgres: Cluster, tmp_path: Path
) -> None:
    data = tmp_path / "people.csv"
    data.write_text("a\n1\n")
    Ledger.open(f"{data}.hedgerow.db", budget=BUDGET, data=data).close()
    with pytest.raises(LedgerError, match="has a budget already"):
        Ledger.open(postgres.url(fresh_name()), budget=BUDGET, data=data)
    Ledger.open(postgres.url(fresh_name()), budget=BUDGET, data=data, reason="moved").close()


def test_a_curator_charges_a_ledger_in_a_database(postgres: Cluster) -> None:
    domain = hr.Domain({"a": 3})
    table = hr.Table.open({"a": [0, 1, 1, 2]}, domain)
    url = postgres.url(fresh_name())
    curator = hr.Curator(table, hr.Budget(epsilon=1), url)
    hr.LaplaceBaseline(epsilon=0.5).release(curator, hr.marginals(domain, 1))
    curator.ledger.close()
    with Ledger.open(url, create=False) as ledger:
        assert ledger.spent().amount == Fraction(1, 2)
        assert ledger.verify().ok


# -- connections that break --------------------------------------------------------------------------------


@pytest.fixture
def wire(postgres: Cluster) -> Iterator[Cutter]:
    cutter = Cutter(postgres.port)
    yield cutter
    cutter.close()


def through(postgres: Cluster, wire: Cutter, name: str) -> LedgerUrl:
    url = LedgerUrl.of(postgres.url(name, host="127.0.0.1").replace(f":{postgres.port}/", f":{wire.port}/"))
    assert url is not None
    return url


def is_a_line(sent: bytes) -> bool:
    return b'"kind"' in sent


@pytest.mark.parametrize("before", [True, False], ids=["not sent", "sent and not answered"])
@pytest.mark.parametrize("in_turn", [True, False], ids=["in a turn", "alone"])
def test_a_commit_that_was_cut_is_made_once_and_its_act_is_done_once(
    postgres: Cluster, wire: Cutter, before: bool, in_turn: bool
) -> None:
    name, acts = fresh_name(), []

    def act() -> tuple[bytes, None]:
        acts.append(1)
        return b"noise %d" % len(acts), None

    with Ledger.open(through(postgres, wire, name), budget=BUDGET) as ledger:
        for i in range(4):
            wire.cut_once(is_a_line, before=before)
            if in_turn:
                with ledger.turn():
                    told = ledger.charge(Pure("1/10"), act, request=f"r{i}")
                    ledger.record(b"after", request=f"after {i}")
            else:
                told = ledger.charge(Pure("1/10"), act, request=f"r{i}")
            assert told.answer == b"noise %d" % (i + 1)
        assert wire.cuts == 4
        assert len(acts) == 4
    with Ledger.open(postgres.url(name), create=False) as kept:
        assert kept.verify().ok
        assert kept.spent().amount == Fraction(4, 10)
        assert [e.answer for e in kept.replay(None) if e.kind == "charge"] == [
            b"noise %d" % i for i in range(1, 5)
        ]


def test_a_commit_that_cannot_be_settled_is_found_by_its_request_later(
    postgres: Cluster, wire: Cutter, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hedgerow.privacy.ledger import postgres_store

    monkeypatch.setattr(postgres_store, "_SETTLING", 0.3)
    name = fresh_name()
    ledger = Ledger.open(through(postgres, wire, name), budget=BUDGET)
    wire.cut_once(lambda sent: is_a_line(sent) and wire.refuse() is None, before=False)
    with pytest.raises(LedgerUnavailable, match="same request id"):
        ledger.charge(Pure("1/4"), says(b"1"), request="r")
    with Ledger.open(postgres.url(name), create=False) as kept:
        again = kept.charge(Pure("1/4"), says(b"2"), request="r")
        assert (again.answer, again.replayed) == (b"1", True)
        assert kept.spent().amount == Fraction(1, 4)


def test_a_turn_that_was_overtaken_writes_nothing_more(postgres: Cluster, wire: Cutter) -> None:
    name = fresh_name()
    with (
        Ledger.open(through(postgres, wire, name), budget=BUDGET) as ledger,
        Ledger.open(postgres.url(name), create=False) as other,
    ):

        def overtaken() -> None:
            with ledger.turn():
                ledger.charge(Pure("1/10"), says(), request="one")
                wire.cut_all()  # its locks are gone
                other.charge(Pure("1/10"), says(), request="theirs")
                ledger.charge(Pure("1/10"), says(), request="two")

        with pytest.raises(LedgerUnavailable):
            overtaken()
        assert other.verify().ok
        assert [e.request for e in other.replay(None)][1:] == ["theirs"]
        ledger.charge(Pure("1/10"), says(), request="two")
        assert ledger.elsewhere == 1
        assert other.spent().amount == Fraction(2, 10)


def test_a_database_that_stops_and_starts_is_gone_on_with(postgres: Cluster, outside: Path) -> None:
    with other_cluster(outside) as cluster, Ledger.open(cluster.url(), budget=BUDGET) as ledger:
        ledger.charge(Pure("1/10"), says(), request="one")
        cluster.stop()
        for work in (ledger.spent, lambda: ledger.charge(Pure("1/10"), says(), request="two")):
            with pytest.raises(LedgerUnavailable):
                work()
        cluster.start()
        ledger.charge(Pure("1/10"), says(), request="two")
        assert ledger.spent().amount == Fraction(2, 10)
        assert ledger.verify().ok


# -- another database in its place -------------------------------------------------------------------------


def test_a_standby_that_took_over_is_a_restored_backup(
    postgres: Cluster, outside: Path, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app
    from hedgerow.service import witness

    data = tmp_path / "people.csv"
    data.write_text("a\n1\n")
    with other_cluster(outside) as primary:
        standby = Cluster(outside / "s")
        standby.folder.mkdir()
        if standby.user is not None:
            import shutil

            shutil.chown(standby.folder, standby.user)
        ledger = Ledger.open(primary.url(), budget=BUDGET, data=data)
        ledger.charge(Pure("1/10"), says(), request="one")
        primary.run("pg_basebackup", "-D", str(standby.data), "-R", "-c", "fast", "--no-sync",
                    "-d", primary.url().partition("#")[0])  # fmt: skip
        ledger.charge(Pure("1/4"), says(), request="two")  # which the standby never gets
        note = witness.note_path(Path(f"{data}.hedgerow.db"))
        witness.note(ledger, note)
        primary.stop("immediate")
        standby.configure(primary_conninfo="''", unix_socket_directories=f"'{standby.folder}'").start()
        try:
            with pytest.raises(LedgerUnavailable, match="standby"):
                Ledger.open(standby.url(), create=False)
            standby.run("pg_ctl", "-D", str(standby.data), "-w", "promote")
            with Ledger.open(standby.url(), create=False) as taken:
                assert taken.spent().amount == Fraction(1, 10)
                with pytest.raises(LedgerError, match="promoted or restored"):
                    taken.charge(Pure("1/10"), says(), request="three")

            def moved(*more: str) -> Any:
                words = ["budget", "moved", str(data), "--ledger", standby.url(), "--reason", "the disk died"]
                return CliRunner().invoke(app, [*words, *more])

            kept = note.read_text()
            note.unlink()
            assert moved().exit_code == 2
            note.write_text(kept)
            assert moved().exit_code == 0
            with Ledger.open(standby.url(), create=False) as taken:
                assert taken.spent().amount == Fraction(35, 100)  # what was lost is set aside
                taken.charge(Pure("1/10"), says(), request="three")
                assert taken.verify().ok
                assert any("the disk died" in e.note for e in taken.replay(None))
        finally:
            standby.stop()


def test_a_holder_who_saw_more_than_is_there_now_refuses_to_go_on(postgres: Cluster, wire: Cutter) -> None:
    """The database was put back while a server ran: what it saw is the witness."""
    name = fresh_name()
    with Ledger.open(through(postgres, wire, name), budget=BUDGET) as ledger:
        ledger.charge(Pure("1/10"), says(), request="one")
        postgres.execute(f"ALTER TABLE {name}.entry DISABLE TRIGGER ALL")
        postgres.execute(f"ALTER TABLE {name}.head DISABLE TRIGGER ALL")
        postgres.execute(f"DELETE FROM {name}.entry WHERE seq = 1")
        postgres.execute(f"UPDATE {name}.head SET seq = 0, hash = (SELECT hash FROM {name}.entry)")
        wire.cut_all()
        with pytest.raises(LedgerError, match="older copy"):
            ledger.charge(Pure("1/10"), says(), request="two")
        with pytest.raises(LedgerError):
            ledger.spent()


def test_data_that_grow_may_have_their_ledger_there(postgres: Cluster, tmp_path: Path) -> None:
    """Two holders append by turns and know whom the other has seen; running totals are drawn once."""
    url, domain = postgres.url(fresh_name()), hr.Domain({"sex": ["F", "M"]})
    budget = Budget(epsilon=1, delta=1e-6)
    one = hr.Growing.make(tmp_path / "people", domain, budget, unit="id", max_rows=1, ledger=url)
    two = hr.Growing.open(tmp_path / "people", domain, ledger=url)
    for number, (holder, ids) in enumerate(((one, [1, 2]), (two, [2, 3]), (one, [1, 2, 3, 4])), 1):
        holder.append({"id": ids, "sex": ["F"] * len(ids)}, name=str(number))
    held = [two.curator(b, b)._rows.tables([("sex",)])[("sex",)].sum() for b in (1, 2, 3)]
    assert held == [2, 1, 1]
    with one.range(1, spend=0.5) as curator:
        curator.measure(("sex",))
    totals = [hr.RunningTotals(horizon=4, epsilon=0.5).open(holder, first=2) for holder in (one, two)]
    assert [a.value for a in totals[0].update()] == [a.value for a in totals[1].update()]
    assert one.ledger.verify().ok
    assert not two.ended
    (tmp_path / "people" / "block-000009.parquet").write_bytes(b"of a block that no line tells of")
    with hr.Growing.open(tmp_path / "people", domain, ledger=url).ledger as lost:
        assert lost.remaining(scope=(1, 99)).amount == 0
        assert lost.verify().ok
    assert one.ended
    one.ledger.close()
    two.ledger.close()
