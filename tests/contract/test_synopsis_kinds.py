"""What every kind of synopsis owes its users: what its mechanism saved loads in any process."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.serve.cli.commands import app
from hedgerow.synopsis.synopsis import Synopsis

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": 3})
RHO, PURE = hr.Budget(epsilon=3, delta=1e-6), hr.Budget(epsilon=3)
W = hr.marginals(DOMAIN, 2)
LIST = [hr.Query.where(DOMAIN, {"sex": "F"}), hr.Query.where(DOMAIN, {"k": 1}), hr.Query.total()]
RANGES = hr.ranges(DOMAIN, [("sex", "k")])
NAMES = [hr.SparseQuery.of({"oak": 1}), hr.SparseQuery.of({"oak": 1, "elm": 0.5})]
LOW = [hr.LargestCount("k"), hr.LargestGap("k", 500), hr.LevelsAbove("k", 2)]
SQL = "SELECT COUNT(*) FROM t WHERE sex = 'F' AND k = 1"

# Of each: its kind, who makes it, budget, neighbours, workload, what is asked, whether SQL makes sense.
EXAMPLES = {
    "model": ("model", hr.AdaptiveRelease(), RHO, "add_remove", W, W, True),
    "dense": ("dense", hr.OfflineMW(rounds=1), RHO, "add_remove", W, W, True),
    "guaranteed": ("guaranteed", hr.OfflineMW(alpha=0.4), RHO, "replace", LIST, LIST, True),
    "small": ("small", hr.SmallDB(alpha=0.9), PURE, "replace", W, W, True),
    "distribution": ("distribution", hr.Projection(), RHO, "add_remove", W, W, True),
    "residuals": ("residuals", hr.Factorization(), RHO, "add_remove", RANGES, W, True),
    "matrix": ("matrix", hr.Factorization(), RHO, "add_remove", LIST, LIST, True),
    "tables": ("tables", hr.LaplaceBaseline(), PURE, "add_remove", W, W, True),
    "histogram": ("tables", hr.HistogramRelease(), PURE, "add_remove", W, LIST, True),
    "answers": ("answers", hr.GaussianBaseline(), RHO, "add_remove", LIST, LIST, False),
    "local": ("local", hr.RandomizedResponse(), PURE, "replace", W, W, True),
    "boosted": ("boosted", hr.BoostQueries(), RHO, "replace", W, W, True),
    "boosted-low": ("boosted", hr.BoostQueries(rounds=2), RHO, "replace", LOW, LOW, False),
    "sketch": ("sketch", hr.SparseProject(size=256), RHO, "add_remove", None, NAMES, False),
    "online": ("online", hr.OnlineMW(updates=3), RHO, "add_remove", LIST, W, True),
    "online-names": (
        "online-names",
        hr.SparseMW(updates=3, sparsity=2),
        RHO,
        "add_remove",
        NAMES,
        NAMES,
        False,
    ),
}


def released(name: str) -> Synopsis:
    kind, mechanism, budget, neighbours, workload, _, _ = EXAMPLES[name]
    if kind in ("sketch", "online-names"):
        table = hr.Table.open(["oak", "ash", "oak"] * 100, hr.OpenDomain())
        return made(mechanism, hr.Curator(table, budget, ":memory:", neighbours), workload)
    few = 4 if name == "boosted-low" else 400  # the enumerating generator lists every database
    rows = {"sex": ["F", "M", "F"] * few, "k": [0, 1, 1] * few}
    curator = hr.Curator(hr.Table.open(rows, DOMAIN), budget, ":memory:", neighbours)
    return made(mechanism, curator, workload)


def made(mechanism, curator: hr.Curator, workload) -> Synopsis:
    """What a release gives, or what is left of a conversation about the workload."""
    if hasattr(mechanism, "open"):
        conversation = mechanism.open(curator)
        conversation.ask(workload)
        return conversation.synopsis()
    return mechanism.release(curator) if workload is None else mechanism.release(curator, workload)


def kinds_in_the_code() -> set[str]:
    """The `kind` of every class in the package that is some kind of Synopsis, read off its source."""
    found = set()
    files = {p: p.read_text() for p in Path(hr.__file__).parent.rglob("*.py")}
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)) if "Synopsis)" in text else ():
            bases = [ast.unparse(b) for b in node.bases] if isinstance(node, ast.ClassDef) else []
            if any(b.split(".")[-1].endswith("Synopsis") for b in bases):
                assert path.parent.name == "synopsis", f"{node.name} would not be found when a file is loaded"
                named = [s for s in node.body if isinstance(s, ast.AnnAssign)]
                found |= {ast.literal_eval(s.value) for s in named if ast.unparse(s.target) == "kind"}
    return found - {""}


def fresh(*parts: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter that has imported nothing."""
    here = {"PYTHONPATH": str(Path(hr.__file__).parents[1]), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *parts], capture_output=True, text=True, env=os.environ | here, check=False
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> dict[str, tuple[Path, Synopsis]]:
    folder = tmp_path_factory.mktemp("kinds")
    made = {name: released(name) for name in EXAMPLES}
    for name, synopsis in made.items():
        synopsis.save(folder / f"{name}.hedgerow")
    return {name: (folder / f"{name}.hedgerow", synopsis) for name, synopsis in made.items()}


def test_every_kind_in_the_code_has_an_example_here(saved):
    assert {synopsis.kind for _, synopsis in saved.values()} == kinds_in_the_code()
    assert {e[0] for e in EXAMPLES.values()} == kinds_in_the_code() == set(Synopsis.kinds)
    for name, (_, synopsis) in saved.items():
        assert synopsis.kind == EXAMPLES[name][0]


LOAD = """
import sys, hedgerow as hr
kinds = [hr.Synopsis.load(path).kind for path in sys.argv[1:]]
strange = [m for m in sys.modules if m.startswith("hedgerow.mechanisms")]
sys.exit(" ".join(strange)) if strange else sys.stdout.write(" ".join(kinds))
"""


def test_every_kind_loads_in_a_process_that_has_imported_nothing_else(saved, size):
    for names in size([list(EXAMPLES)], [[name] for name in EXAMPLES]):
        done = fresh("-c", LOAD, *(str(saved[name][0]) for name in names))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split() == [EXAMPLES[name][0] for name in names]


def test_the_command_line_answers_and_samples_from_files_of_a_fresh_process(saved, size):
    for name in size([], list(EXAMPLES)):
        path, synopsis = saved[name]
        done = fresh("-m", "hedgerow", "query", str(path), SQL, "--json")
        if not EXAMPLES[name][6]:
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), name
            continue
        assert done.returncode == 0, done.stderr
        asked = hr.Query.where(DOMAIN, {"sex": "F", "k": 1})
        (row,) = json.loads(done.stdout)["rows"]
        ((number,),) = (row.values(),)
        assert number["value"] == pytest.approx(synopsis.answer(asked).value)
        rows = fresh("-m", "hedgerow", "sample", str(path), "--rows", "5", "--seed", "1")
        assert rows.returncode == (0 if "sample" in synopsis.can else 2)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_loaded_answers_alike_and_is_saved_again_byte_by_byte(saved, name, tmp_path):
    path, synopsis = saved[name]
    again, asked = hr.Synopsis.load(path), EXAMPLES[name][5]
    ours, theirs = synopsis.answer(asked), again.answer(asked)
    np.testing.assert_array_equal(theirs.value, ours.value)
    np.testing.assert_array_equal(theirs.error, ours.error)
    assert (theirs.confidence, theirs.source, theirs.notes) == (ours.confidence, ours.source, ours.notes)
    for what in ("can", "domain", "receipt", "cost", "private"):
        assert getattr(again, what) == getattr(synopsis, what), what
    if "sample" in synopsis.can:
        for column, values in synopsis.sample(20, seed=1).items():
            np.testing.assert_array_equal(again.sample(20, seed=1)[column], values)
    again.save(tmp_path / "again.hedgerow")
    assert (tmp_path / "again.hedgerow").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", EXAMPLES)
def test_sql_is_answered_or_refused_in_one_sentence(saved, name):
    path, _ = saved[name]
    done = CliRunner().invoke(app, ["query", str(path), SQL, "--json"])
    assert done.exit_code == (0 if EXAMPLES[name][6] else 2), done.output
    assert EXAMPLES[name][6] or json.loads(done.stdout)["error"].count(". ") == 0


def test_a_broken_file_is_one_sentence_whatever_is_broken(saved, tmp_path):
    path, broken = saved["small"][0], tmp_path / "broken.hedgerow"
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    head = json.loads(parts["synopsis.json"])
    heads = [[], "x", None, {}, {**head, "body": {}}, {**head, "domain": 1}, {**head, "provenance": []}]
    cases = [whole[: len(whole) // 2], b"", b"PK", whole[:200] + bytes(200) + whole[400:]]
    for bad in heads:
        with zipfile.ZipFile(broken, "w") as out:
            for name, data in (parts | {"synopsis.json": json.dumps(bad).encode()}).items():
                out.writestr(name, data)
        cases.append(broken.read_bytes())
    for data in cases:
        broken.write_bytes(data)
        with pytest.raises(hr.HedgerowError, match="is not a synopsis file"):
            hr.Synopsis.load(broken)


def test_two_kinds_cannot_share_a_name():
    with pytest.raises(TypeError, match="'small'"):
        type("Another", (Synopsis,), {"kind": "small"})
    assert Synopsis.kinds["small"].__name__ == "SmallSynopsis"
