"""The pages hold: examples run, links lead somewhere, and the guarantees' pages exist."""

from __future__ import annotations

import re

import pytest

from pages import PAGES, ROOT, blocks


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an empty folder: whoever copies a block has no file of ours
    if page.name == "README.md":  # its people.csv is the reader's own
        rows = ["sex,age"] + [f"{'FM'[i % 2]},{i % 90}" for i in range(300)]
        (tmp_path / "people.csv").write_text("\n".join(rows))
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec", dont_inherit=True), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_the_schema_example_is_a_schema(tmp_path):
    import hedgerow as hr

    path = tmp_path / "schema.yaml"
    path.write_text(blocks(ROOT / "docs" / "schema.md", "yaml")[0])
    assert hr.Domain.load(path).shape == (2, 21, 4, 16, 4)


def test_every_citation_key_in_the_code_resolves():
    from hedgerow.bibliography import ENTRIES

    for path in (ROOT / "src").rglob("*.py"):
        for key in re.findall(r"\[([A-Z]{1,6}\d{2})\]", path.read_text()):
            assert key in ENTRIES, f"{path.name} cites [{key}]"


def test_every_mechanism_says_its_theorem_and_where_it_is_charged():
    import hedgerow as hr
    from hedgerow.homes import HOMES

    for name in HOMES:
        text = " ".join(getattr(hr, name).__doc__.split())
        assert "Privacy" in text, name
        assert "Accuracy" in text, name
        assert re.search(r"[Cc]harged in `|where the charge is made", text), name


def rows_of_algorithms() -> list[tuple[str, list[str]]]:
    """Each row of the page of algorithms with the text it is from: source, what, name, test."""
    found, source = [], ""
    for line in (ROOT / "docs" / "algorithms.md").read_text().splitlines():
        if title := re.match(r"## \[(\w+)\]", line):
            source = title[1]
        elif line.startswith("## "):
            source = ""
        elif source and line.startswith("| ") and not line.startswith(("| source", "| ---")):
            found.append((source, [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]))
    return found


def test_the_page_of_algorithms_names_only_what_exists_and_is_tested():
    import pkgutil

    rows = rows_of_algorithms()
    assert len(rows) > 70
    for source, (numbers, what, names, tests) in rows:
        named = re.findall(r"`((?:hr|hedgerow)\.[\w.]+)`", names)
        assert named, (source, numbers, what)
        for name in named:
            assert pkgutil.resolve_name(re.sub(r"^hr\.", "hedgerow.", name)) is not None
        files = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        assert files, (source, numbers, what)
        for file in files:
            assert (ROOT / file).is_file(), file


NUMBERED = {  # every numbered algorithm, definition and bound of the sources
    "DR14": (
        "Example 4.1, Alg. 4, Prop. 4.1, Thm 4.2, Lemma 4.3, Prop. 4.4, Thm 4.5, Thm 4.6, Def. 4.1, "
        "Def. 4.2, Lemma 4.7, Thm 4.8, Thm 4.9, Alg. 5, Thm 4.10, Prop. 4.11, Lemma 4.12, Alg. 6, Thm "
        "4.13, Thm 4.14, Thm 4.15"
    ),
    "W3": "Def. 2.4, Thm 3.8, Thm 1.5",
    "BR11": (
        "Thm 1.1, Thm 1.2, Def. 2.1, Remark 2.2, Def. 2.3, Def. 2.4, Def. 2.5, Def. 2.6, Remark 2.7, "
        "Def. 2.8, Thm 2.9, Thm 2.10, Def. 3.1, Def. 3.2, Thm 3.3, Def. 3.4, Thm 3.5, Alg. 1, Claim "
        "3.6, Lemma 3.7, Thm 3.8, Def. 3.9, Remark 3.10, Cor. 3.11, Thm 4.1, Cor. 4.2, Def. 4.3, Alg. "
        "2, Remark 4.4, Thm 4.5, Lemma 4.6, Cor. 4.7, Lemma 4.8, Thm 4.9, Def. 4.10, Remark 4.11, "
        "Cor. 4.12"
    ),
    "W12": (
        "Alg. 1, Lemma 12.1, Alg. 2, Lemma 12.2, Alg. 3, Thm 12.3, Alg. 4, Thm 12.4, Alg. 5, Cor. "
        "12.5, Alg. 6, Thm 12.6"
    ),
    "DRV10": (
        "Def. 2.1, Def. 2.2, Def. 2.3, Lemma 2.1, Def. 3.1, Thm 3.1, Lemma 3.2, Thm 3.3, Def. 4.1, "
        "Fig. 1, Thm 4.1, Lemma 4.2, Claim 4.3, Claim 4.4, Lemma 5.1, Thm 5.2, Thm 5.3, Thm 5.4, Thm "
        "5.5, Def. 6.1, Fig. 2, Thm 6.1, Claim 6.2, Claim 6.3, Claim 6.4, Lemma 6.5, Lemma 6.6"
    ),
}


@pytest.mark.parametrize("source", NUMBERED)
def test_every_number_of_the_sources_has_a_row(source):
    here = {n.strip() for s, (numbers, *_) in rows_of_algorithms() if s == source for n in numbers.split(",")}
    assert set(NUMBERED[source].split(", ")) <= here, set(NUMBERED[source].split(", ")) - here


def test_every_function_of_the_theory_is_on_the_page_of_algorithms():
    import hedgerow as hr

    text = (ROOT / "docs" / "algorithms.md").read_text()
    for paper in ("dr14", "drv10", "br11", "w3", "w12"):
        for name in getattr(hr.theory, paper).__all__:
            assert f"`hr.theory.{paper}.{name}`" in text, f"{paper}.{name}"


def test_the_changelog_has_a_privacy_heading():
    assert "### Privacy" in (ROOT / "CHANGELOG.md").read_text()


def test_the_site_builds(tmp_path):
    import subprocess
    import sys

    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_year_of_operation_runs_as_the_page_says(tmp_path):
    import shutil
    import subprocess
    import sys

    rows = [f"{'FM'[i % 2]},{i % 90}" for i in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,age", *rows]) + "\n")
    (tmp_path / "schema.yaml").write_text("attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 20]}\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, line in {"hedgerow": "-m hedgerow", "python3": ""}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {line} "$@"\n')
    (tools / "mail").write_text('#!/bin/sh\necho "$@" >> mailed; cat >> mailed\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    page = blocks(ROOT / "docs" / "operate.md", "sh")
    script = f'set -eux\nPATH="{tools}:$PATH"\n' + "\n".join(page)
    done = subprocess.run(
        [shutil.which("bash"), "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    mailed = tmp_path / "mailed"
    assert done.returncode == 0, done.stderr[-3000:] + (mailed.read_text() if mailed.exists() else "")
    assert not mailed.exists()
    assert "old.db is too old" in done.stdout.splitlines()
    assert (tmp_path / "release-2026-01-02" / "receipt.json").exists()


def test_every_code_of_an_error_has_its_section_with_what_programs_see():
    from hedgerow.errors import HedgerowError
    from hedgerow.serve.call import STATUS
    from hedgerow.serve.cli.failure import EXIT
    from hedgerow.serve.wire.failure import STATES

    def below(kind: type) -> set[type]:
        return {kind}.union(*map(below, kind.__subclasses__()))

    codes = {kind.code for kind in below(HedgerowError) if kind.__module__.startswith("hedgerow.")}
    codes |= set(STATUS) | set(EXIT)
    text = (ROOT / "docs" / "errors.md").read_text()
    sections = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", text, re.S | re.M))
    assert codes | {"internal", "interrupted"} | set(STATES) - {"shutdown"} == set(sections)
    for code, words in sections.items():
        assert "*What to do.*" in words, code
        assert f"SQLSTATE {STATES.get(code, 'XX000')}</small>" in words, code
        assert code not in STATUS or f"HTTP {STATUS[code]}," in words, code
        assert "exit code" not in words or f"exit code {EXIT.get(code, 2)}," in words, code


def test_the_page_of_python_names_is_what_the_docstrings_say():
    import hedgerow as hr
    from hedgerow.release.python_page import python_page

    text = (ROOT / "docs" / "python.md").read_text()
    assert python_page() == text, "run `python -m hedgerow.serve.cli.reference`"
    for name in hr.__all__:
        assert name.startswith("__") or f"### hr.{name}\n" in text, name


def test_the_glossary_is_sorted_and_long_enough():
    words = re.findall(r"^\*\*(.+)\*\*$", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    assert len(words) >= 40
    assert words == sorted(words, key=str.lower)


def test_the_owners_page_can_be_copied_line_by_line(tmp_path):
    import shlex
    import subprocess
    import sys

    rows = [f"{i // 2},{'FM'[i % 2]},{i % 90},{'NESW'[i % 4]},{20000 + 7 * (i % 999)}" for i in range(2000)]
    (tmp_path / "people.csv").write_text("\n".join(["person_id,sex,age,region,income", *rows]) + "\n")
    typed = [x for block in blocks(ROOT / "docs" / "owner.md", "console") for x in block.splitlines()]
    assert len(typed) == 5
    for command in typed:
        program, *words = shlex.split(command)
        assert program == "hedgerow"
        done = subprocess.run(
            [sys.executable, "-m", "hedgerow", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "release" / "report.html").exists()
