"""What the pages say about a server works as printed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import pytest

from pages import ROOT, blocks
from services.server import RunningServer

pytestmark = pytest.mark.xdist_group("server")
PRINTED = "127.0.0.1:8765"


def lines_of(page: str, start: str) -> list[str]:
    """The lines of a page that begin with a word, in its blocks of commands."""
    found = [*blocks(ROOT / page, "console"), *blocks(ROOT / page, "sh")]
    return [line.split("  #")[0] for block in found for line in block.splitlines() if line.startswith(start)]


def test_two_commands_and_five_lines_of_curl_work_as_printed(tmp_path):
    rows = [f"{'FM'[i % 2]},{i % 90}" for i in range(2000)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,age", *rows]) + "\n")
    (tmp_path / "schema.yaml").write_text("attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 5]}\n")
    install, *_ = lines_of("README.md", "pip install")
    assert install.strip() == "pip install 'hedgerow[serve]'"
    (command,) = {
        line.strip()
        for page in ("README.md", "docs/serve.md")
        for line in lines_of(page, "hedgerow serve")
        if "--learn" in line  # the other one is the console's, and leads through pages
    }
    server = RunningServer(
        tmp_path, tuple(shlex.split(command)[2:])
    ).start()  # it says --port 0: others run too
    try:
        assert lines_of("README.md", "curl") == lines_of("docs/serve.md", "curl")
        told = []
        for line in lines_of("README.md", "curl"):
            assert PRINTED in line
            here = line.replace(f"http://{PRINTED}", server.url).replace("curl ", "curl -sS --fail ", 1)
            done = subprocess.run(
                ["sh", "-c", here], env={"HEDGEROW_TOKEN": server.token, "PATH": "/usr/bin:/bin"},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            told.append(json.loads(done.stdout))
        datasets, schema, learned, charged, budget = told
        assert datasets["datasets"][0]["name"] == "people"
        assert [a["name"] for a in schema["attributes"]] == ["sex", "age"]
        assert learned["cost"] is None
        assert charged["cost"]["epsilon"] > 0
        assert budget["spent"]["epsilon"] > 1
    finally:
        assert server.stop() == 0


def test_without_json_one_line_says_that_it_is_ready_and_the_rest_is_on_stderr(tmp_path):
    (tmp_path / "people.csv").write_text("sex\nF\nM\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "hedgerow", "serve", "people.csv", "--port", "0", "--wire-port", "0"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    line = process.stdout.readline()
    process.terminate()
    rest, words = process.communicate(timeout=30)
    ready = r"Hedgerow is ready at http://127\.0\.0\.1:(\d+) \(PostgreSQL 127\.0\.0\.1:\d+\)\n"
    found = re.fullmatch(ready, line)
    assert found
    assert rest == ""
    assert process.returncode == 0
    assert "Nothing has been spent." in words
    assert "The dataset people is not set up" in words
    assert re.search(r"^  hr_\w+_\w+$", words, re.M)  # as it is copied
    assert re.search(rf"^  http://127.0.0.1:{found[1]}/login\?link=\w+$", words, re.M)


def test_the_configuration_of_the_page_is_good(tmp_path):
    from hedgerow.service.config import Config

    file = tmp_path / "hedgerow.toml"
    file.write_text(blocks(ROOT / "docs" / "operate.md", "toml")[0])
    config = Config.load(file)
    assert (config.server.grid_ms, config.datasets[0].learn) == (250, 1)


def test_the_table_of_endpoints_and_roles_is_the_one_that_is_served():
    from hedgerow.serve.http.reference import PAGE, page

    assert (ROOT / PAGE).read_text() == page(), "python -m hedgerow.serve.http.reference writes it"
