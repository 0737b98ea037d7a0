"""The page for those who extend the house: its examples join it, and its suites see what breaks them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.audit.registry import AUDITS, audits
from hedgerow.audit.stand import Stand
from hedgerow.mechanisms import cards
from hedgerow.serve.cli.commands import app
from hedgerow.testing.contracts import BrokenContract
from pages import ROOT, blocks

PAGE = ROOT / "docs" / "extending.md"


def block(of: str) -> str:
    """The page's only example that has some text."""
    (found,) = [code for code in blocks(PAGE, "python") if of in code]
    return found


def run(code: str) -> None:
    exec(compile(code, PAGE.name, "exec", dont_inherit=True), {})


BROKEN = {
    "class MaxThenMeasure": ("choose, measure = left.split(1, 3)", "choose = measure = left", "Budget"),
    "class LogOddsUpdate": ("return -1 if wanted < had else 1", "return 1", "it says 1 although"),
    "class SQLiteRows": (
        "SELECT {names} FROM {self._table}",
        "SELECT DISTINCT {names} FROM people",
        "other counts",
    ),
    "class JsonLines": ("self._commit(self._mine.lines, durable)", "pass", "contract of a store"),
}


@pytest.mark.parametrize("example", BROKEN)
def test_the_suite_at_the_end_of_an_example_fails_if_the_example_is_broken(example: str) -> None:
    """That the examples pass as they stand is a test of all pages."""
    before, after, words = BROKEN[example]
    code = block(example)
    assert code.count(before) == 1
    with pytest.raises(BrokenContract, match=words):
        run(code.replace(before, after))


def test_examples_use_public_names_only() -> None:
    for code in blocks(PAGE, "python"):
        for line in code.splitlines():
            assert "hedgerow._" not in line
            for word in ("curator._", "ext._", "hr._", "contracts._"):
                assert word not in line, line


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The page's mechanism and card as an installed package of somebody else's."""
    folder = tmp_path / "max_then_measure"
    folder.mkdir()
    (folder / "__init__.py").touch()
    body = block("class MaxThenMeasure").split("contracts.check_mechanism")[0]
    (folder / "release.py").write_text(body)
    (folder / "card.py").write_text(block("CARD = Card("))
    info = tmp_path / "max_then_measure-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: max-then-measure\nVersion: 1.0\n")
    (point,) = [line for line in blocks(PAGE, "toml")[0].splitlines() if "CARD" in line]
    (info / "entry_points.txt").write_text(f"[hedgerow.mechanisms]\n{point.replace(chr(34), '')}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    cards.guests.cache_clear()
    yield tmp_path
    cards.guests.cache_clear()
    for name in [n for n in sys.modules if n.startswith("max_then_measure")]:
        del sys.modules[name]
    vars(hr).pop("MaxThenMeasure", None)


def test_the_page_s_package_joins_front_door_planner_command_line_and_audit(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False alarm of the audit 1e-6."""
    domain = hr.Domain({"a": 3, "b": 2})
    assert hr.MaxThenMeasure(epsilon=1.0).run is None  # type: ignore[attr-defined]
    made = hr.plan(domain, 1000, hr.marginals(domain, 1), hr.Budget(epsilon=1), simulate=False)
    assert made["MaxThenMeasure"].refused is None
    (package / "people.csv").write_text("a,b\n" + "0,1\n1,0\n2,1\n" * 9)
    (package / "schema.yaml").write_text("confirmed: true\nattributes: {a: [0, 1, 2], b: [0, 1]}\n")
    told = ["release", "people.csv", "--schema", "schema.yaml", "--epsilon", "1", "--out", "out"]
    done = CliRunner().invoke(app, [*told, "--mechanism", "max-then-measure"])
    assert done.exit_code == 0, done.output
    assert hr.Synopsis.load(package / "out/synopsis.hedgerow").provenance.mechanism == "MaxThenMeasure"
    card = cards.card("MaxThenMeasure")
    monkeypatch.setitem(AUDITS, "MaxThenMeasure", [])
    card.audits(Stand(card))
    found = list(audits([1.0], 200, 6.0, only=["MaxThenMeasure"]))
    assert found
    assert not any(finding.refuted for finding in found)


def test_a_guest_s_release_is_known_by_all_its_fields(package: Path) -> None:
    table = hr.Table.open({"a": [0, 1, 1] * 9}, hr.Domain({"a": 2}))
    curator = hr.Curator(table, hr.Budget(epsilon=4), ":memory:")
    kind = hr.MaxThenMeasure  # type: ignore[attr-defined]
    first = kind(epsilon=1, run="spring").release(curator, [("a",)])
    again = kind(epsilon=1, run="spring").release(curator, [("a",)])
    assert (again.table(("a",)) == first.table(("a",))).all()
    assert curator.spent.epsilon == 1
    with pytest.raises(hr.LedgerError, match="already used for another question"):
        kind(epsilon=2, run="spring").release(curator, [("a",)])
