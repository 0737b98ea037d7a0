"""The page of settings: no key of hedgerow.toml and no variable of the environment is without a line."""

from __future__ import annotations

import re
from dataclasses import fields

from hedgerow.service.config import Config
from hedgerow.service.config_page import PARTS, VARIABLES, config_page, described
from pages import ROOT, blocks

PAGE = ROOT / "docs" / "config.md"


def test_the_page_is_what_the_classes_say():
    assert PAGE.read_text() == config_page(), "run `python -m hedgerow.serve.cli.reference`"


def test_every_key_is_described_and_nothing_else():
    for kind in PARTS.values():
        assert set(described(kind)) == {f.name for f in fields(kind)}


def test_every_variable_that_the_code_reads_has_a_line():
    read = {
        name.removesuffix("_FILE")
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"HEDGEROW_[A-Z_]*[A-Z]", path.read_text())
    }
    assert read == set(VARIABLES)


def test_the_example_is_a_configuration(tmp_path):
    (tmp_path / "hedgerow.toml").write_text(blocks(PAGE, "toml")[0])
    (tmp_path / "people.csv").write_text("person_id\n")
    (tmp_path / "schema.yaml").write_text("attributes: {sex: [F, M]}\n")
    made = Config.load(tmp_path / "hedgerow.toml").check()
    assert made.limits.asks_per_minute == 600
    assert made.datasets[0].called == "people"
