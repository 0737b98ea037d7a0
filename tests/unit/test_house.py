"""The house plan: imports point one way, the front door is complete, and nobody uses ordinary randomness."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

import hedgerow

ROOT = Path(hedgerow.__file__).parent
ROOMS = ("queries", "privacy", "curator", "learning", "synopsis", "mechanisms", "release", "audit", "service")
ROOMS += ("serve",)
FAMILIES = {  # the arrows between folders of a room; every other one is refused
    "queries": {("sql", "domain"), ("strategies", "domain")},
    "curator": {
        ("drafting", "rows"),
        ("growing", "rows"),
        ("growing", "statistics"),
        ("runs", "noise"),
        ("runs", "rows"),
        ("runs", "statistics"),
        ("statistics", "noise"),
        ("statistics", "rows"),
    },
    "learning": {("sparse", "dense")},
    "mechanisms": {("session", "adaptive")},
    "release": {("plan", "report")},
    "serve": {  # a command starts the server, which listens twice and has pages
        ("cli", "http"),
        ("http", "console"),
        ("http", "wire"),
    },
}
INSIDE = {
    "_rows",
    "_act",
    "_compare",
    "_entropy",
}  # what lets rows out: named by the curator, and by who tries to break it
GROUND = {
    "errors",
    "bibliography",
    "compiled",
    "figures",
    "homes",
    "client",
    "plot",
}  # may be imported from everywhere
FRONT = {  # the front door and what stands beside it
    "__init__",
    "__main__",
    "primitives",
    "testing",
    "extending",
    "demo",
    "theory",
    "dbapi",
}


def imports_of(path: Path) -> set[str]:
    """First components below `hedgerow` of everything a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "hedgerow" else [f"hedgerow.{a.name}" for a in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("hedgerow.")}
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room):
    allowed = set(ROOMS[: ROOMS.index(room) + 1]) | GROUND
    if room in ("audit", "service", "serve"):  # they stand outside and use what everyone may use
        allowed |= FRONT
    for path in (ROOT / room).rglob("*.py"):
        wrong = imports_of(path) - allowed
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_the_client_knows_errors_and_figures_only():
    for path in (ROOT / "client").rglob("*.py"):
        wrong = imports_of(path) - {
            "client",
            "errors",
            "figures",
            *(["dbapi"] if path.stem == "alchemy" else []),
        }
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_the_arrow_test_sees_an_arrow_that_points_the_wrong_way(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("from hedgerow.curator.rows.table import Table\nfrom hedgerow import synopsis\n")
    assert imports_of(bad) == {"curator", "synopsis"}


def modules_of(path: Path, root: Path = ROOT) -> set[tuple[str, ...]]:
    """Modules below `hedgerow` that a file imports, each as its folders and its name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {tuple(a.name.split(".")[1:]) for a in node.names if a.name.startswith("hedgerow.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hedgerow."):
            inside = tuple(node.module.split(".")[1:])
            is_folder = root.joinpath(*inside).is_dir()
            found |= {(*inside, a.name) for a in node.names} if is_folder else {inside}
    return found


def arrows(room: Path, root: Path = ROOT) -> set[tuple[str, str]]:
    """From which family to which other one the files of a room import."""
    found = set()
    for family in (f for f in room.iterdir() if f.is_dir()):
        for path in family.rglob("*.py"):
            there = {m[1] for m in modules_of(path, root) if len(m) > 2 and m[0] == room.name}
            found |= {(family.name, to) for to in there - {family.name}}
    return found


DOORS = {"serve", "service", "release", "errors", "client"}  # and the front door itself


def test_doors_know_what_can_be_done_and_files_and_errors_only():
    for path in (ROOT / "serve").rglob("*.py"):
        wrong = imports_of(path) - DOORS
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


@pytest.mark.parametrize("room", ROOMS)
def test_families_of_a_room_know_each_other_only_where_the_list_says_so(room):
    assert arrows(ROOT / room) == FAMILIES.get(room, set())


def test_the_family_test_sees_an_arrow(tmp_path):
    for family, text in (("one", "from hedgerow.room.two import noun\n"), ("two", ""), ("three", "")):
        (tmp_path / "room" / family).mkdir(parents=True)
        (tmp_path / "room" / family / "noun.py").write_text(text)
    (tmp_path / "room" / "three" / "noun.py").write_text(
        "def f():\n    from hedgerow.room.one.noun import x\n"
    )
    assert arrows(tmp_path / "room", tmp_path) == {("one", "two"), ("three", "one")}


def reaches(text: str) -> set[str]:
    """Names of the curator's inside that a file takes from something that is not itself."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute) and n.attr in INSIDE]
    return {n.attr for n in nodes if not (isinstance(n.value, ast.Name) and n.value.id in ("self", "cls"))}


def test_nobody_but_the_curator_and_the_audit_reaches_into_the_curator():
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] not in ("curator", "audit"):
            assert not reaches(path.read_text()), path
    assert reaches("def f(curator): return curator._rows") == {"_rows"}
    assert not reaches("class A:\n    def f(self): return self._rows")


def test_no_class_has_the_name_of_another():
    homes = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def long_functions(text: str, most: int = 60) -> list[str]:
    """Functions of more than `most` lines, signature and docstring counted."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds)]
    return [n.name for n in found if n.end_lineno - n.lineno >= most]


def test_files_and_functions_fit_on_a_few_screens():
    """A compiled loop is one function, however long: those lie in files called kernels."""
    lengths = {path: len(path.read_text().splitlines()) for path in ROOT.rglob("*.py")}
    assert not {path: n for path, n in lengths.items() if n > 400}
    assert median(lengths.values()) <= 170
    for path in lengths:
        assert path.stem.endswith("kernels") or not long_functions(path.read_text()), path


def test_the_size_test_sees_a_function_of_one_line_too_many():
    assert not long_functions("def f(\n    a,\n):\n" + "    a\n" * 57)
    assert long_functions("def f(\n    a,\n):\n" + "    a\n" * 58) == ["f"]


def test_every_folder_says_what_lives_there_and_what_may_not():
    for path in ROOT.rglob("__init__.py"):
        words = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert len(re.findall(r"[.:](?=\s|$)", words)) >= 2, path.parent


def test_unit_tests_lie_in_the_folders_of_what_they_test():
    here = Path(__file__).parent
    for folder in (p for p in here.rglob("*") if p.is_dir() and p.name != "__pycache__"):
        assert (ROOT / folder.relative_to(here)).is_dir(), folder


PLACES = re.findall(
    r"^\| ([\w ().:]+) \| `([\w/]+\.py)` \|$",
    (ROOT.parents[1] / "docs/architecture.md").read_text().split("## Where is")[1].split("\n## ")[0],
    re.M,
)


def test_there_are_thirty_nouns_and_more():
    assert len(dict(PLACES)) == len(PLACES) >= 30


@pytest.mark.parametrize(("noun", "place"), PLACES)
def test_the_tree_alone_says_where_a_noun_is(noun, place):
    """The file is there, a word of the noun is in its path, and a class of that name is in that file."""
    assert (ROOT / place).is_file()
    words = re.findall(r"[A-Z]*[a-z]+|[A-Z]+", noun)
    named = {w.lower() for w in words} | {noun.lower().replace(" ", "_")}
    path = re.split(r"[/_.]", place)
    assert named & set(path) or any(p.startswith(w[:5]) for p in path for w in named if len(w) > 4)
    homes = [p for p in ROOT.rglob("*.py") if re.search(rf"^class {re.escape(noun)}\b", p.read_text(), re.M)]
    assert not homes or ROOT / place in homes


def test_learning_never_names_epsilon():
    for path in (ROOT / "learning").rglob("*.py"):
        names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
        assert not {n for n in names if "epsilon" in n}, path


def test_the_front_door_opens_on_every_name_and_matches_its_stub():
    for name in hedgerow.__all__:
        assert getattr(hedgerow, name) is not None
    stub = (ROOT / "__init__.pyi").read_text()
    typed = set(re.findall(r"import (?:\w+) as (\w+)", stub)) | {"__version__"}
    assert typed == set(hedgerow.__all__)


def test_ordinary_randomness_and_print_stay_out_of_the_library():
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] in ("serve", "audit"):
            continue
        text = path.read_text()
        assert not re.search(r"np\.random\.|^import random\b|(?<![\w.])print\(", text, re.M), path


def test_only_sampling_of_public_models_uses_numpy_random():
    for room in ("queries", "privacy", "curator"):
        for path in (ROOT / room).rglob("*.py"):
            assert "numpy.random" not in path.read_text(), path


def test_importing_the_package_loads_nothing_heavy():
    code = "import hedgerow, sys; sys.exit(bool({'numpy', 'numba', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_doctests_hold():
    import doctest
    import importlib

    failed = 0
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(["hedgerow", *path.relative_to(ROOT).with_suffix("").parts])
        if name.endswith(("__init__", "__main__")):
            continue
        failed += doctest.testmod(importlib.import_module(name)).failed
    assert failed == 0


# ---- what is said about a mechanism is said once, on its card --------------------------------------------


def own_cards():
    from hedgerow.homes import HOMES
    from hedgerow.mechanisms import cards

    return [cards.own(name) for name in HOMES]


def test_every_card_lies_in_the_folder_of_its_home_and_is_in_the_list():
    import importlib

    from hedgerow.homes import HOMES

    found = {}
    for path in (ROOT / "mechanisms").glob("*/card.py"):
        module = importlib.import_module(f"hedgerow.mechanisms.{path.parent.name}.card")
        for card in module.CARDS:
            assert card.home.startswith(f"hedgerow.mechanisms.{path.parent.name}."), card.name
            assert card.name not in found, card.name
            found[card.name] = path.parent.name
    assert found == HOMES


def test_card_and_front_door_are_the_same():
    from hedgerow.release import pages

    for card in own_cards():
        assert getattr(hedgerow, card.name) is card.load()
        assert card.load().__name__ == card.name
    text = (ROOT / "__init__.pyi").read_text()
    assert pages.stub(text) == text, "run `python -m hedgerow.serve.cli.reference`"


def test_card_and_catalogue_are_the_same():
    from hedgerow.release import catalogue

    offline = {card.command: card for card in own_cards() if card.kind == "offline"}
    assert "" not in offline
    assert offline == catalogue.own()
    assert len(offline) == sum(card.kind == "offline" for card in own_cards())
    assert not any(card.command for card in own_cards() if card.kind != "offline")


def test_card_and_planner_are_the_same():
    from hedgerow.mechanisms.task import Task
    from hedgerow.release.plan.plan import planned

    domain, budget = hedgerow.Domain({"a": 2}), hedgerow.Budget(epsilon=1, delta=1e-9)
    finite = Task.of(domain, 100, hedgerow.marginals(domain, 1), budget)
    names = Task.of(hedgerow.OpenDomain(), 100, None, budget, sparsity=1, queries=1)
    seen = {card.name for task in (finite, names) for card in planned(task)}
    assert seen == {card.name for card in own_cards() if card.kind in ("offline", "online")}


def test_card_and_audit_are_the_same():
    from hedgerow import primitives
    from hedgerow.audit.registry import AUDITS

    functions = {name for name in primitives.__all__ if name.islower()}
    assert set(AUDITS) == {card.name for card in own_cards()} | functions


def test_card_and_docs_are_the_same():
    from hedgerow.release import pages

    docs = ROOT.parents[1] / "docs"
    text, nav = (docs / "choosing.md").read_text(), (docs.parent / "mkdocs.yml").read_text()
    assert pages.choosing_page(text) == text, "run `python -m hedgerow.serve.cli.reference`"
    for card in own_cards():
        assert f"`{card.name}`" in text
        assert not card.page or ((docs / card.page).is_file() and card.page in nav)


def test_card_and_help_are_the_same():
    from typer.main import get_command

    from hedgerow.serve.cli.commands import app

    options = {p.name: p.help for p in get_command(app).commands["release"].params}
    for card in own_cards():
        assert not card.command or f"{card.command}: {card.words}" in options["mechanism"]
        for option in card.takes & set(options):
            assert card.command in options[option].split(":")[0]


def test_who_is_made_from_cards_names_no_mechanism():
    """A name in one of these files would be a list that drifts."""
    names = {card.name for card in own_cards()}
    files = ["release/catalogue.py", "service/publication.py", "audit/registry.py", "audit/stand.py"]
    files += [f"release/plan/{noun}.py" for noun in ("plan", "theorem", "simulate", "curve", "table")]
    for file in (*files, "__init__.py", "serve/cli/release.py", "serve/cli/plan.py"):
        nodes = list(ast.walk(ast.parse((ROOT / file).read_text())))
        said = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        said |= {n.id for n in nodes if isinstance(n, ast.Name)}
        said |= {n.attr for n in nodes if isinstance(n, ast.Attribute)}
        said |= {a.name for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names}
        assert not said & names, file
