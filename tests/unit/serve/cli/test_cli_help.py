"""Help, reference page, completion: what people read before they type."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.serve.cli import reference
from hedgerow.serve.cli.commands import app

ROOT = Path(__file__).parents[4]
COMMANDS = [(path.split()[1:], command) for path, command in reference._walk("hedgerow", get_command(app))]


def test_the_reference_page_is_what_the_commands_say():
    page = (ROOT / reference.PAGE).read_text(encoding="utf-8")
    assert page == reference.reference(), "run `python -m hedgerow.serve.cli.reference`"


@pytest.mark.parametrize("path", [" ".join(path) for path, _ in COMMANDS])
def test_every_command_explains_itself_and_speaks_json(path):
    command = {" ".join(p): c for p, c in COMMANDS}[path]
    names = {name for p in command.params for name in p.opts}
    assert "--json" in names
    assert command.help
    assert all(p.help for p in command.params if p.name != "help"), path
    assert CliRunner().invoke(app, [*path.split(), "--help"]).exit_code == 0


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom typer.main import get_command\nfrom hedgerow.serve.cli.commands import app\n"
        "assert len(dict(get_command(app).commands)) > 10\n"  # each is built
        "heavy = {'numpy', 'numba', 'pyarrow', 'duckdb', 'vl_convert', 'sqlglot', 'jinja2', 'yaml'}\n"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_command_loads_no_other():
    code = (
        "import sys\nfrom typer.main import get_command\nfrom hedgerow.serve.cli.commands import HOMES, app\n"
        "get_command(app).commands['ask']\n"
        "files = {home.split('.')[0] for home in HOMES.values()}\n"
        "sys.exit([f for f in files if f'hedgerow.serve.cli.{f}' in sys.modules] != ['ask'])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_free_question_loads_nothing_that_opens_rows(tmp_path):
    domain = hr.Domain({"sex": ["F", "M"]})
    curator = hr.Curator(hr.Table.open({"sex": ["F", "M"] * 5}, domain), hr.Budget(epsilon=1), ":memory:")
    hr.LaplaceBaseline().release(curator, ("sex",)).save(tmp_path / "s.hedgerow")
    code = (
        "import sys\nfrom hedgerow.serve.cli import main\n"
        f"sys.argv = ['hedgerow', 'query', {str(tmp_path / 's.hedgerow')!r}, 'SELECT COUNT(*) FROM t']\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code\n"
        "rooms = ('curator.rows', 'curator.curator', 'mechanisms', 'service.dataset', 'release.plan')\n"
        "sys.exit(str([m for m in sys.modules if m.startswith(tuple(f'hedgerow.{r}' for r in rooms))] or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr.strip() == "", done.stderr


def test_the_shell_completes_commands():
    asks = {"_HEDGEROW_COMPLETE": "complete_bash", "COMP_WORDS": "hedgerow bud", "COMP_CWORD": "1"}
    script = "from hedgerow.serve.cli.commands import app; app(prog_name='hedgerow')"
    options = {"env": {**os.environ, **asks}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", script], check=False, **options)
    assert done.stdout.split() == ["budget"]
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout


def test_the_version_is_told():
    import hedgerow

    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == f"hedgerow {hedgerow.__version__}"


def test_no_command_prints_the_help():
    result = CliRunner().invoke(app, [])
    assert "release" in result.output
    assert "Traceback" not in result.output
