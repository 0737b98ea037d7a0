"""A release that would be noise alone is refused before it is charged, with the epsilon that would do."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.errors import BadValue
from hedgerow.privacy.budget import Privacy
from hedgerow.serve.cli.commands import app
from hedgerow.service.dataset import make_budget
from hedgerow.service.prospect import Prospect

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": hr.Categorical(range(3))})


WIDE = hr.Domain({f"a{i}": 40 for i in range(8)})


def prospect(epsilon, rows=None, domain=DOMAIN):
    asked = hr.marginals(domain, 2)
    return Prospect.of(domain, asked, Privacy(), make_budget(epsilon).cost, rows)


def price(epsilon):
    return make_budget(epsilon).cost


def test_noise_is_what_is_as_large_as_there_are_rows():
    assert prospect("0.0001").noise
    assert not prospect("0.5").noise
    assert prospect("0.01", 500).noise
    assert not prospect("0.01", 1_000_000).noise


def test_tables_that_are_off_as_if_no_row_were_seen_are_noise_though_each_count_is_less_than_all_rows():
    assumed, stated = prospect("0.001", None, WIDE), prospect("0.001", 50_000, WIDE)
    assert assumed.ones < 50_000
    assert assumed.noise
    assert stated.noise
    assert not prospect("0.001", 5_000_000, WIDE).noise
    with pytest.raises(BadValue, match=r"up to 50,000 rows are assumed, as nobody said") as refused:
        assumed.refuse_noise(price)
    assert "--expect" in refused.value.hint
    with pytest.raises(BadValue, match=r"by about \d+%, where there are about 50,000 rows") as refused:
        stated.refuse_noise(price)
    assert "--expect" not in refused.value.hint


def test_the_epsilon_that_is_said_to_be_of_use_is_and_the_next_smaller_one_is_not():
    for rows in (500, 20_000):
        least = prospect("0.0001", rows).enough(price)
        assert least is not None
        assert not prospect(repr(least), rows).useless
        assert prospect(repr(least / 2.5), rows).useless
    with pytest.raises(BadValue, match=r"noise alone.*epsilon 0"):
        prospect("0.0001").refuse_noise(price)


def test_a_command_that_would_release_noise_makes_no_budget_and_says_what_would_do(people_cli):
    command = ("release", "people.csv", "--schema", "schema.yaml", "--mechanism", "gaussian", "--out", "out")
    refused = people_cli(*command, "--epsilon", "0.00001", "--json")
    assert refused.exit_code == 2
    assert "noise alone" in refused.output
    assert "--anyway" in refused.output
    assert not Path("people.csv.hedgerow.db").exists()
    assert not Path("out").exists()
    small = people_cli(*command, "--epsilon", "0.01", "--expect", "100", "--json")
    assert small.exit_code == 2
    done = people_cli(*command, "--epsilon", "0.00001", "--anyway", "--json")
    assert done.exit_code == 0, done.output
    assert Path("out/synopsis.hedgerow").exists()


def test_noise_of_many_columns_is_refused_where_nobody_said_how_many_rows_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text("attributes:\n" + "".join(f"  a{i}: 40\n" for i in range(8)))
    Path("d.csv").write_text(",".join(f"a{i}" for i in range(8)) + "\n" + ("1," * 7 + "2\n") * 200)
    command = ["release", "d.csv", "--schema", "s.yaml", "--epsilon", "0.02", "--out", "out"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2, refused.output
    assert "up to 50,000 rows are assumed" in " ".join(refused.output.split())
    assert not Path("d.csv.hedgerow.db").exists()
