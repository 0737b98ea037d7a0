"""Claims: what a guest's statistic, score or act sees, what the ledger says, and how a false one falls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow import audit
from hedgerow import extending as ext
from hedgerow.audit.case import AUDITS, one_act
from hedgerow.audit.coupled.cases import replays
from hedgerow.audit.registry import audits
from hedgerow.curator.statistics.claimed import REGISTERED
from hedgerow.privacy.ledger.ledger import verify_export
from hedgerow.privacy.ledger.receipt import Receipt
from hedgerow.serve.cli.commands import app

DOMAIN = hr.Domain({"a": 3, "b": 2})
ROWS = {"a": [0, 1, 1, 2] * 5, "b": [0, 0, 1, 1] * 5}
WORDS = {"author": "Ada Lovelace", "proof": "a row is in one cell of the table, which is one of the numbers"}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is gone after it."""
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


@ext.claimed_statistic(**WORDS)
@dataclass(frozen=True)
class Levels:
    """Rows at every level of an attribute."""

    attribute: str = "a"
    claimed: int = 1

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        return ((self.attribute,),)

    @property
    def norms(self) -> ext.Norms:
        return ext.Norms(self.claimed, self.claimed, 2 * self.claimed, 2 * self.claimed)

    def shape(self, domain: hr.Domain) -> tuple[int, ...]:
        return (domain[self.attribute].size,)

    def numbers(self, tables: Any) -> Any:
        return tables[(self.attribute,)]


LEVELS = REGISTERED[Levels]


@pytest.fixture(autouse=True)
def registered(forgotten: None) -> None:
    REGISTERED[Levels] = LEVELS


def curator(ledger: Any = ":memory:", epsilon: float = 100.0, **more: Any) -> hr.Curator:
    return hr.Curator(hr.Table.open(ROWS, DOMAIN), hr.Budget(epsilon=epsilon), ledger, **more)


def test_a_claimed_statistic_is_measured_and_says_whose_word_it_rests_on() -> None:
    """False alarm: noise of scale 1/100 moves a count with probability below 1e-40."""
    guard = curator()
    found = guard.measure(Levels(), 100)
    assert found.values.tolist() == [5, 10, 5]
    assert found.claims == (f"Ada Lovelace claims for Levels: {WORDS['proof']}",)
    assert not found.is_table
    assert "claimed statistic" in repr(found)


def test_the_claim_is_in_the_chain_on_its_line_and_in_the_receipt(tmp_path: Path) -> None:
    guard = curator(tmp_path / "l.db", 4)
    guard.measure(("a",), 1)
    assert guard.receipt.claims == ()
    assert "claims" not in guard.receipt.to_json()
    guard.measure(Levels(), 1, note="by level")
    guard.measure(("b",), 1)
    line = list(guard.ledger.replay(None))[2]
    (claim,) = line.details["claims"]
    assert (claim["author"], claim["proof"]) == (WORDS["author"], WORDS["proof"])
    assert claim["facts"]["norms"]["l1"] == 1
    assert guard.ledger.claims() == (2,)
    receipt = guard.receipt
    assert receipt.claims == (2,)
    assert "Line 2 is private if the author's claim is true." in receipt.describe()
    assert Receipt.from_json(json.loads(json.dumps(receipt.to_json()))) == receipt
    assert guard.ledger.verify(receipt).ok
    assert verify_export(guard.ledger.export(), receipt).ok
    assert not guard.ledger.verify(replace(receipt, claims=())).ok
    again = hr.Ledger.open(tmp_path / "l.db")
    assert again.claims() == (2,)


def test_a_line_that_hides_its_claim_does_not_verify() -> None:
    guard = curator()
    guard.measure(Levels(), 1)
    export = guard.ledger.export()
    without = json.loads(json.dumps(export))
    without["entries"][1]["line"]["details"] = {}
    assert "chain breaks" in verify_export(without).describe()
    short = {**export, "entries": export["entries"][:2]}
    assert "must speak of line 1's claim" in verify_export(short).describe()


def test_budget_show_and_a_synopsis_say_it(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b\n" + "0,1\n1,0\n2,1\n" * 9)
    guard = hr.Curator(hr.Table.open(tmp_path / "p.csv", DOMAIN), hr.Budget(epsilon=4))
    before = hr.LaplaceBaseline(epsilon=1).release(guard, hr.marginals(DOMAIN, 1))
    assert before.claims == ()
    guard.measure(Levels(), 1)
    made = hr.LaplaceBaseline(epsilon=1).release(guard, hr.marginals(DOMAIN, 1))
    assert made.private
    assert made.claims == (2,)
    assert "private if an author's claim is true" in repr(made)
    made.save(tmp_path / "s.hedgerow")
    assert hr.Synopsis.load(tmp_path / "s.hedgerow").claims == (2,)
    shown = CliRunner().invoke(app, ["budget", "show", str(tmp_path / "p.csv"), "--json"])
    lines = json.loads(shown.stdout)["lines"]
    assert lines[2]["claims"] == [f"Ada Lovelace claims for Levels: {WORDS['proof']}"]
    assert not lines[1]["claims"]
    told = CliRunner().invoke(app, ["budget", "show", str(tmp_path / "p.csv")])
    assert "Line 2 is private if the author's claim is true." in told.stdout
    asked = CliRunner().invoke(
        app, ["query", str(tmp_path / "s.hedgerow"), "SELECT a, COUNT(*) FROM t GROUP BY a"]
    )
    assert "Private if an author's claim is true" in asked.stdout, asked.output


def test_the_same_request_gets_the_same_answer_and_another_claim_is_another_question() -> None:
    guard = curator()
    first = guard.measure(Levels(), 1, request="r")
    assert guard.measure(Levels(), 1, request="r").values.tolist() == first.values.tolist()
    assert guard.spent.epsilon == 1
    ext.claimed_statistic(author="Eve", proof="trust me")(Levels)
    with pytest.raises(hr.LedgerError, match="already used"):
        guard.measure(Levels(), 1, request="r")


def test_it_is_given_copies_of_the_tables_it_declared_and_nothing_else() -> None:
    seen: list[Any] = []

    @ext.claimed_statistic(**WORDS)
    @dataclass(frozen=True)
    class Looks(Levels):
        def numbers(self, tables: Any) -> Any:
            seen.append(tables)
            tables[("a",)][:] += 1  # its own copy
            return tables[("a",)]

    guard = curator(epsilon=200)
    assert guard.measure(Looks(), 100).values.tolist() == [6, 11, 6]
    assert guard.measure(Levels(), 100).values.tolist() == [5, 10, 5]
    assert all(list(tables) == [("a",)] and not hasattr(tables, "update") for tables in seen)


FALSE = {
    "floats": (lambda t: t * 0.5, "whole numbers"),
    "another shape": (lambda t: t[1:], "whole numbers"),
    "doubled": (lambda t: 2 * t, "Ada Lovelace about .* is not true: one row more moves"),
    "squared": (lambda t: t**2, "is not true"),
    "swapped": (lambda t: np.maximum.accumulate(t), "is not true"),
}


@pytest.mark.parametrize("case", FALSE)
def test_what_is_untrue_of_made_up_rows_is_refused_before_anything_is_read_or_charged(case: str) -> None:
    change, words = FALSE[case]

    @ext.claimed_statistic(**WORDS)
    @dataclass(frozen=True)
    class Wrong(Levels):
        def numbers(self, tables: Any) -> Any:
            return change(tables[("a",)])

    guard = curator()
    with pytest.raises(hr.UnsupportedQuery, match=words):
        guard.measure(Wrong(), 1)
    assert guard.spent.epsilon == 0


@pytest.mark.parametrize("failure", ["raises", "grows", "floats"])
def test_no_message_depends_on_rows(failure: str) -> None:
    """What fails on the real tables alone has returned zeros, and is charged."""

    @ext.claimed_statistic(**WORDS)
    @dataclass(frozen=True)
    class Fails(Levels):
        def numbers(self, tables: Any) -> Any:
            table = tables[("a",)]
            if table.tolist() != [5, 10, 5]:
                return table
            if failure == "raises":
                raise ValueError(f"secret {table.tolist()}")
            return np.append(table, 1) if failure == "grows" else table / 2

    guard = curator()
    assert guard.measure(Fails(), 99).values.tolist() == [0, 0, 0]
    assert guard.spent.epsilon == 99


def test_what_is_not_registered_is_no_statistic_and_a_statistic_is_no_score() -> None:
    @dataclass(frozen=True)
    class Plain(Levels):
        pass

    guard = curator()
    with pytest.raises(hr.HedgerowError):
        guard.measure(Plain(), 1)
    with pytest.raises(hr.UnsupportedQuery, match="registered as a statistic, not as a score"):
        guard.select(Levels(), 1)
    with pytest.raises(hr.UnsupportedQuery, match="own sensitivity"):
        guard.select(Plain(), 1)
    with pytest.raises(hr.HedgerowError):
        guard.sparse_vector(3, 1).ask_all(Levels())
    with pytest.raises(hr.UnsupportedQuery, match="frozen dataclass"):
        ext.claimed_statistic(**WORDS)(int)
    with pytest.raises(hr.LedgerError, match="author of a claim"):
        ext.claimed_statistic(author="", proof="none")(Levels)
    assert guard.spent.epsilon <= 1  # the sparse vector's


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64])
def test_whole_numbers_of_any_width_are_taken(kind: Any) -> None:
    @ext.claimed_statistic(**WORDS)
    @dataclass(frozen=True)
    class Narrow(Levels):
        def numbers(self, tables: Any) -> Any:
            return tables[("a",)].astype(kind)

    assert curator().measure(Narrow(), 100).values.tolist() == [5, 10, 5]


def test_the_ledger_s_replay_with_independent_arithmetic_takes_lines_with_claims() -> None:
    guard = curator()
    kept = [guard.measure(("a",), 1), guard.measure(Levels(), 1)]
    guard.measure_all([Levels("b"), ("a", "b")], 2)
    found = audit.replay(guard.ledger, kept)
    assert not found.problems, found.problems
    assert guard.ledger.claims() == (2, 4)


# ---- scores ----------------------------------------------------------------------------------------------


def a_score(double: int = 1) -> Any:
    @ext.claimed_score(author="Ada Lovelace", proof="each score is a count of rows")
    @dataclass(frozen=True)
    class Commonest(Levels):
        @property
        def norms(self) -> ext.Norms:
            return ext.Norms.query(1)

        def numbers(self, tables: Any) -> Any:
            return double * tables[(self.attribute,)]

    return Commonest


def test_a_claimed_score_chooses_and_its_line_says_so() -> None:
    """False alarm: a gap of 5 at epsilon 99 errs with probability below 1e-90."""
    guard = curator()
    assert guard.select(a_score()(), 99) == 1
    assert guard.ledger.claims() == (1,)
    with pytest.raises(hr.UnsupportedQuery, match="is not true"):
        guard.select(a_score(2)(), 1)


# ---- the audit -------------------------------------------------------------------------------------------


def odd_count(word: str) -> Any:
    """A false claim that a few made-up tables do not show: a table of exactly seven rows counts threefold."""
    enter = ext.claimed_statistic if word == "statistic" else ext.claimed_score

    @enter(author="Eve", proof="trust me", examples=lambda domain: [Seven(domain.names[0])])
    @dataclass(frozen=True)
    class Seven(Levels):
        @property
        def norms(self) -> ext.Norms:
            return ext.Norms.query(1) if word == "score" else ext.Norms.table()

        def numbers(self, tables: Any) -> Any:
            (table,) = tables.values()
            return table * 3 if table.sum() == 7 else table

    return Seven


@pytest.mark.parametrize("word", ["statistic", "score"])
def test_the_replay_refutes_a_false_claim_that_registration_did_not_see(word: str) -> None:
    false = odd_count(word)("a")
    guard = curator()
    ask = (lambda c: c.measure(false, 1)) if word == "statistic" else (lambda c: c.select(false, 1))
    ask(guard)  # nothing is wrong with it at first sight
    found = audit.replay_neighbours(ask, DOMAIN, budget=hr.Budget(epsilon=2), neighbours=200)
    assert not found.ok
    assert "was declared" in found.violations[0]


def test_hedgerow_audit_replays_the_examples_of_claims() -> None:
    ext.claimed_statistic(**WORDS, examples=lambda domain: [Levels(domain.names[1])])(Levels)
    odd_count("score")
    (true,) = replays(12, 20.0, ["claim Levels"])
    (false,) = replays(120, 20.0, ["claim Seven"])
    assert true.ok
    assert true.neighbours > 0
    assert not false.ok
    assert false.finding().refuted


def test_true_claims_pass_the_replay_for_rows_and_for_people() -> None:
    found = audit.replay_neighbours(lambda c: c.measure(Levels(), 1), DOMAIN, neighbours=120)
    assert found.ok, found.violations


# ---- acts ------------------------------------------------------------------------------------------------


@ext.claimed_act(author="Ada Lovelace", proof="discrete Laplace noise at the sensitivity of a table")
@dataclass(frozen=True)
class NoisyTable:
    shrink: int = 1
    fails: bool = False

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        return (("a", "b"),)

    def event(self, price: ext.Cost, privacy: ext.Privacy) -> ext.events.Event:
        scale = privacy.sensitivity(ext.Norms.table()).l1 / price.amount
        return ext.events.Laplace(privacy.sensitivity(ext.Norms.table()).l1, scale)

    def shape(self, domain: hr.Domain) -> tuple[int, ...]:
        return domain.shape

    def draw(self, tables: Any, event: Any, coins: ext.Coins) -> Any:
        if self.fails:
            raise ValueError(f"{tables}")
        table = tables[("a", "b")]
        return table + coins.laplace(event.scale / self.shrink, table.size).reshape(table.shape)


def test_an_act_of_ones_own_is_charged_and_kept_in_one_transaction() -> None:
    guard = curator(epsilon=200)
    found = ext.carry_out(guard, NoisyTable(), 100, request="r", note="mine")
    assert found.tolist() == [[5, 0], [5, 5], [0, 5]]
    assert guard.spent.epsilon == 100
    again = ext.carry_out(guard, NoisyTable(), 100, request="r")
    assert (again == found).all()
    assert guard.spent.epsilon == 100
    assert guard.receipt.claims == (1,)
    assert guard.ledger.verify(guard.receipt).ok
    with pytest.raises(hr.BudgetExceeded):
        ext.carry_out(guard, NoisyTable(), 101)
    assert ext.carry_out(guard, NoisyTable(fails=True), 50).tolist() == [[0, 0]] * 3
    assert guard.spent.epsilon == 150


def test_an_act_that_is_not_entered_or_charges_more_than_its_price_is_refused() -> None:
    @dataclass(frozen=True)
    class Plain(NoisyTable):
        pass

    @ext.claimed_act(author="Eve", proof="none")
    @dataclass(frozen=True)
    class Dear(NoisyTable):
        def event(self, price: ext.Cost, privacy: ext.Privacy) -> ext.events.Event:
            return ext.events.Pure(2 * price.amount)

    guard = curator()
    for act, words in ((Plain(), "claimed_act first"), (Dear(), "at most its price"), (7, "claimed_act")):
        with pytest.raises(hr.UnsupportedQuery, match=words):
            ext.carry_out(guard, act, 1)
    assert guard.spent.epsilon == 0


def test_the_replay_says_that_it_does_not_check_acts_of_ones_own() -> None:
    found = audit.replay_neighbours(lambda c: ext.carry_out(c, NoisyTable(), 1), DOMAIN, neighbours=30)
    assert found.ok, found.violations
    assert found.unchecked == ("claimed act",)


@pytest.mark.parametrize(("shrink", "refuted"), [(1, False), (3, True)])
def test_the_statistical_audit_refutes_an_act_whose_noise_is_too_small(
    shrink: int, refuted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False alarm 1e-6."""
    monkeypatch.setitem(AUDITS, "NoisyTable", [])
    one_act("NoisyTable", lambda c, e: ext.carry_out(c, NoisyTable(shrink), e), relations=("add_remove",))
    found = list(audits([1.0], 3000, 20.0, only=["NoisyTable"]))
    assert any(finding.refuted for finding in found) == refuted
