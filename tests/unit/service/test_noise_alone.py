"""A release that would be noise alone is refused before it is charged, with the epsilon that would do."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.errors import BadValue
from hedgerow.privacy.budget import Privacy
from hedgerow.service.dataset import make_budget
from hedgerow.service.prospect import Prospect

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": hr.Categorical(range(3))})


def prospect(epsilon, rows=None):
    asked = hr.marginals(DOMAIN, 2)
    return Prospect.of(DOMAIN, asked, Privacy(), make_budget(epsilon).cost, rows)


def price(epsilon):
    return make_budget(epsilon).cost


def test_noise_is_what_is_as_large_as_there_are_rows():
    assert prospect("0.0001").noise
    assert not prospect("0.5").noise
    assert prospect("0.01", 500).noise
    assert not prospect("0.01", 1_000_000).noise


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
