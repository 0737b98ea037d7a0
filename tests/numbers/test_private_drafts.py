"""Private drafts: every act holds on neighbours and is charged; what comes out is used without looking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from draft_files import frame
from hedgerow import audit
from hedgerow.audit.coupled.planted import OneRowEach
from hedgerow.curator.statistics import frequent_names as names
from hedgerow.curator.statistics.ranks import RankErrors
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.queries.domain.bins import bins
from hedgerow.queries.domain.cell_kinds import KINDS, CellKinds
from hedgerow.queries.query import Norms
from hedgerow.serve.cli.commands import app
from sizes import size

LARGE = hr.Budget(epsilon=8, delta=0.01)
DELTA = Fraction(1, 2000)
AGES = hr.Domain({"age": bins(0, 30, 10, missing=True)})


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


# -- the acts on neighbours ------------------------------------------------------------------------------


def finds(curator: hr.Curator) -> dict[str, int]:
    return names.frequent_names(curator, 2, DELTA, most=8)


def replayed(mechanism, domain, **rest):
    many = size(100, 3000)
    return audit.replay_neighbours(mechanism, domain, budget=LARGE, neighbours=many, **rest)


def test_frequent_names_keep_the_theorem_on_neighbouring_tables():
    found = replayed(finds, hr.OpenDomain())
    assert found.ok, found.violations
    assert not found.unchecked


def test_names_shown_below_the_threshold_are_found_out(monkeypatch):
    monkeypatch.setattr(names, "least_threshold", lambda sigma, k, delta: int(2 * sigma))
    found = replayed(finds, hr.OpenDomain())
    assert "are shown with probability" in " ".join(found.violations)


def test_a_threshold_that_forgets_a_persons_other_rows_is_found_out(monkeypatch):
    real = names.least_threshold
    monkeypatch.setattr(names, "least_threshold", lambda sigma, k, delta: real(sigma, 1, delta) - 1)
    found = replayed(finds, hr.OpenDomain(), groups=((3, True),))
    assert "are shown with probability" in " ".join(found.violations)


def test_names_whose_noise_is_for_one_row_of_a_person_are_found_out():
    found = replayed(finds, hr.OpenDomain(), groups=((3, True),), curator=OneRowEach)
    assert "squared L2 distance" in " ".join(found.violations)


def ranks(curator: hr.Curator) -> list[int]:
    return [
        curator.select(RankErrors("age", share, lean, place), 1)
        for share, lean, place in ((5, -3, None), (400, 0, None), (995, 9, None), (995, 9, 1))
    ]


@pytest.mark.parametrize("sigma", [3, 40, 900])
@pytest.mark.parametrize("most", [1, 2, 50])
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 10**6)])
def test_a_person_alone_with_one_name_or_with_many_is_shown_with_no_more_than_delta(sigma, most, delta):
    z = np.arange(12 * sigma, -12 * sigma - 1, -1)
    law = np.exp(-((z / sigma) ** 2) / 2)
    tail = dict(zip(z.tolist(), np.cumsum(law / law.sum()).tolist(), strict=True))
    threshold = names.least_threshold(Fraction(sigma), most, delta)
    for many in range(1, most + 1):
        held = most // many  # rows of each
        assert many * tail.get(threshold - held, 0.0) <= delta


def test_ranks_move_by_no_more_than_declared(monkeypatch):
    found = replayed(ranks, AGES)
    assert found.ok, found.violations
    monkeypatch.setattr(RankErrors, "norms", property(lambda self: Norms.query(self.share)))
    assert "a score moves by" in " ".join(replayed(ranks, AGES).violations)


def test_the_best_ranked_edge_has_the_share_below_it():
    domain = hr.Domain({"n": bins(0, 100, 1)})
    table = hr.Table.open({"n": np.arange(1000) % 100}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=4000), ":memory:")
    assert [curator.select(RankErrors("n", share), 1000) for share in (100, 500, 990)] == [10, 50, 99]


def test_a_lean_towards_a_place_is_lost_on_both_sides_of_it():
    domain = hr.Domain({"n": bins(0, 100, 1)})
    table = hr.Table.open({"n": np.full(10, 50)}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=10**5), ":memory:")
    found = [curator.select(RankErrors("n", 500, 10**6, place), 20_000) for place in (20, 80)]
    assert found == [20, 80]
    assert RankErrors("n", 500, 3).digest != RankErrors("n", 500, 3, 3).digest


def test_every_cell_is_of_exactly_one_kind_by_itself():
    cells = ["7", "7.0", "7.25", "1e-9", "NA", "", None, "yes", "007", "1,5", "1,500", "31.12.2024"]
    cells += ["2024-12-31", "12/31/2024", "31/12/2024", "10:30", "Rose", "\x00", "9" * 400]
    together = CellKinds().encode(cells)
    assert together.tolist() == [int(CellKinds().encode([c])[0]) for c in cells]
    said = [KINDS[c] for c in together]
    assert said[:7] == ["whole", "whole", "decimal 2", "decimal more", "nothing", "nothing", "nothing"]
    assert said[7:13] == ["truth", "code", "comma", "grouped", "%d.%m.%Y", "date"]
    assert said[13:17] == ["%m/%d/%Y", "%d/%m/%Y", "%H:%M", "word"]


# -- the draft -------------------------------------------------------------------------------------------


@pytest.fixture
def people(folder) -> Iterator[Path]:
    """Drafted with the same noise every time: how far a column's kind is from another is not computed."""
    rng = np.random.default_rng(4)
    rows = frame("survey", size(6000, 20_000))[["q1", "age"]]
    rows["town"] = rng.choice(["Ash", "Elm", "Oak", "NA"], len(rows))
    rows["rare"] = [f"w{v}" for v in rng.integers(0, 10**9, len(rows))]
    rows["seen"] = [f"{d:%d.%m.%Y}" for d in frame("days", len(rows))["seen"]]
    rows["ill"] = rng.choice(["True", "False"], len(rows))
    rows["person_id"] = np.arange(len(rows)) // 2
    rows.to_csv("people.csv", index=False)
    with hr.testing.seeded(4):
        yield Path("people.csv")


def test_a_private_draft_is_released_from_and_asked_without_looking(people):
    assert run("budget", "init", people, "--epsilon", 6).exit_code == 0
    told = run("schema", "infer", people, "--private", "--epsilon", 2, "--json")
    assert told.exit_code == 0, told.stdout
    drafted = json.loads(told.stdout)
    kinds = {name: set(body) & {"levels", "edges", "dates"} for name, body in drafted["attributes"].items()}
    assert kinds == {
        "q1": {"edges"}, "age": {"edges"}, "town": {"levels"}, "seen": {"dates"}, "ill": {"levels"},
    }  # fmt: skip
    assert drafted["attributes"]["town"]["levels"] == ["Ash", "Elm", "Oak"]
    assert drafted["attributes"]["seen"]["format"] == "%d.%m.%Y"
    assert set(drafted["left_out"]) == {"rare", "person_id"}
    checked = run("schema", "check", "schema.yaml", people, "--json")
    assert checked.exit_code == 0
    assert json.loads(checked.stdout)["confirmed"]
    made = run("release", people, "--schema", "schema.yaml", "--epsilon", 3, "--out", "out")
    assert made.exit_code == 0, made.stderr
    sql = "SELECT town, COUNT(*) AS n FROM t WHERE age >= 50 GROUP BY town"
    asked = run("query", "out/synopsis.hedgerow", sql, "--json")
    assert asked.exit_code == 0
    assert {row["town"] for row in json.loads(asked.stdout)["rows"]} >= {"Ash", "Elm", "Oak"}


def test_a_draft_costs_what_was_said_and_every_act_has_its_line(people):
    assert (
        run("budget", "init", people, "--epsilon", 2, "--unit", "person_id", "--max-rows", 2).exit_code == 0
    )
    assert run("schema", "infer", people, "--private", "--epsilon", 1).exit_code == 0
    with Ledger.open("people.csv.hedgerow.db", readonly=True) as ledger:
        lines = [e for e in ledger.replay(None, 0) if e.kind == "charge"]
        assert all("private draft" in e.note for e in lines)
        price = ledger.meant(Fraction(1))
        assert 0.8 * price.amount < ledger.spent().amount <= price.amount
        assert {e.event.kind for e in lines} == {"together", "exponential", "zcdp"}


def test_an_interrupted_draft_goes_on_without_paying_again(people, monkeypatch):
    from hedgerow.curator.curator import Curator

    assert run("budget", "init", people, "--epsilon", 1.5).exit_code == 0
    real, acts = Curator._act, []

    def counted(self, *given, **rest):
        if len(acts) == stop:
            raise KeyboardInterrupt
        acts.append(rest["request"])
        return real(self, *given, **rest)

    def spent():
        with Ledger.open("people.csv.hedgerow.db", readonly=True) as ledger:
            return ledger.spent(), [e.request for e in ledger.replay(None, 0) if e.kind == "charge"]

    monkeypatch.setattr(Curator, "_act", counted)
    for stop in (0, 1, 4, 30):  # before the first act, after it, among ends, and among names
        acts.clear()
        run("schema", "infer", people, "--private", "--epsilon", 1)
        assert not Path("schema.yaml").exists()
        assert len(spent()[1]) == stop == len(set(spent()[1]))
    monkeypatch.setattr(Curator, "_act", real)
    assert run("schema", "infer", people, "--private", "--epsilon", 1).exit_code == 0
    whole, lines = spent()
    assert len(lines) == len(set(lines))
    with Ledger.open("people.csv.hedgerow.db", readonly=True) as ledger:
        assert whole.amount <= ledger.meant(Fraction(1)).amount
    drafted = Path("schema.yaml").read_text()
    again = run("schema", "infer", people, "--private", "--epsilon", 1, "--force")
    assert again.exit_code == 0
    assert spent()[0] == whole
    assert drafted.split("attributes")[1] == Path("schema.yaml").read_text().split("attributes")[1]


def test_a_draft_without_a_budget_or_beyond_it_is_refused_and_charges_nothing(people):
    refused = run("schema", "infer", people, "--private", "--epsilon", 1)
    assert (refused.exit_code, "budget init" in refused.stderr) == (2, True)
    assert run("schema", "infer", people, "--private").exit_code == 2
    assert run("budget", "init", people, "--epsilon", 1).exit_code == 0
    refused = run("schema", "infer", people, "--private", "--epsilon", 2)
    assert refused.exit_code == 3
    with Ledger.open("people.csv.hedgerow.db", readonly=True) as ledger:
        assert ledger.spent().is_zero
    assert not Path("schema.yaml").exists()


def test_a_draft_is_not_charged_to_an_older_ledger_that_was_put_back(people):
    assert run("budget", "init", people, "--epsilon", 3).exit_code == 0
    old = Path("people.csv.hedgerow.db").read_bytes()
    assert run("schema", "infer", people, "--private", "--epsilon", 1).exit_code == 0
    for file in Path().glob("people.csv.hedgerow.db*"):
        file.unlink()
    Path("people.csv.hedgerow.db").write_bytes(old)
    refused = run("schema", "infer", people, "--private", "--epsilon", 2, "--force")
    assert refused.exit_code == 2, refused.stdout
    with Ledger.open("people.csv.hedgerow.db", readonly=True) as ledger:
        assert ledger.spent().is_zero


def test_a_pure_budget_drafts_numbers_and_says_why_it_drafts_no_names(people):
    assert run("budget", "init", people, "--epsilon", 400, "--delta", 0).exit_code == 0
    told = json.loads(run("schema", "infer", people, "--private", "--epsilon", 200, "--json").stdout)
    assert "edges" in told["attributes"]["age"]
    assert "a delta" in told["left_out"]["town"]


@pytest.mark.parametrize(
    "first",
    ["Rose Miller,34,2024-03-01", "Rose,34.5,Ash", "31.12.1990,Oak,Ash", "34,172,Oak", "10:30,Oak,Ash"],
)
def test_a_first_line_that_is_somebodys_row_is_not_made_public_as_names(folder, first):
    Path("rows.csv").write_text("\n".join([first, *["Ash,1,2"] * 50]) + "\n")
    assert run("budget", "init", "rows.csv", "--epsilon", 2).exit_code == 0
    refused = run("schema", "infer", "rows.csv", "--private", "--epsilon", 1)
    assert (refused.exit_code, "names of the columns" in refused.stderr) == (2, True)
    assert not any(cell in refused.stderr for cell in first.split(","))
    assert not Path("schema.yaml").exists()
    with Ledger.open("rows.csv.hedgerow.db", readonly=True) as ledger:
        assert ledger.spent().is_zero


def test_years_may_be_names_of_columns(folder):
    Path("rows.csv").write_text("\n".join(["town,kind,size,2019,2020", *["Ash,b,c,1,2"] * 500]) + "\n")
    assert run("budget", "init", "rows.csv", "--epsilon", 9).exit_code == 0
    assert run("schema", "infer", "rows.csv", "--private", "--epsilon", 8).exit_code == 0
