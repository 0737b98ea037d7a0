"""The pages hold: examples run, links lead somewhere, and the guarantees' pages exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["sex,age,person_id"] + [f"{'FM'[i % 2]},{i % 90},{i // 2}" for i in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(rows))
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_the_schema_example_is_a_schema(tmp_path):
    import hedgerow as hr

    path = tmp_path / "schema.yaml"
    path.write_text(blocks(ROOT / "docs" / "index.md", "yaml")[0])
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


def test_the_page_of_algorithms_names_only_what_exists():
    import pkgutil

    text = (ROOT / "docs" / "algorithms.md").read_text()
    named = set(re.findall(r"`(?:hr|hedgerow)\.([\w.]+)`", text))
    assert len(named) > 50
    for name in named:
        assert pkgutil.resolve_name(f"hedgerow.{name}") is not None


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
