"""What is said before spending: what a price buys on a schema, when it is nothing, and what would do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.privacy.budget import Privacy
from hedgerow.serve.cli.commands import app
from hedgerow.service.prospect import Prospect, loose_words

ONE = hr.Budget(epsilon=1, delta=1e-9).cost


def prospect(columns: int, rows: float | None, max_rows: int = 1, price=ONE, levels: int = 20) -> Prospect:
    domain = hr.Domain({f"a{i}": levels + 5 * (i == 0) for i in range(columns)})
    return Prospect.of(domain, hr.marginals(domain, 2), Privacy("add_remove", max_rows), price, rows)


def test_many_columns_and_several_rows_a_person_buy_nothing_and_what_would_do_is_offered():
    found = prospect(45, 20_000, max_rows=5)
    assert found.useless
    assert "NEXT TO NOTHING" in found.words
    assert "levels each" in found.advice
    assert "--max-rows 1" in found.advice
    assert "without" in found.advice
    assert "times the epsilon" in found.advice


def test_what_is_offered_would_do():
    found = prospect(45, 20_000, max_rows=5)
    fewer, levels = found._fewer(), found._levels()
    assert 0 < len(fewer) < 45
    assert "a0" not in fewer  # of most levels
    assert not prospect(len(fewer), 20_000, 5).useless
    assert not prospect(45, 20_000, 5, levels=levels - 5).useless


def test_enough_rows_make_the_same_price_good():
    found = prospect(6, 100_000)
    assert not found.useless
    assert "NOTHING" not in found.words
    assert "% of about 100,000 rows" in found.words


def test_without_a_number_of_rows_it_says_from_how_many_on():
    found = prospect(6, None)
    assert found.off is None
    assert "good from about" in found.words
    assert not prospect(6, found.needed).useless
    assert prospect(6, found.needed / 10).useless


@pytest.mark.parametrize("pure", [False, True])
def test_noise_is_that_of_the_price_in_either_currency(pure):
    price = hr.Budget(epsilon=0.04).cost if pure else ONE
    twice = hr.Budget(epsilon=0.08).cost if pure else hr.Budget(rho=4 * ONE.amount, delta=1e-9).cost
    ratio = prospect(5, 1000, price=price).ones / prospect(5, 1000, price=twice).ones
    assert 1.9 < ratio < 2.1


def test_weak_promises_are_warned_of():
    assert not loose_words(hr.Budget(epsilon=10), 10.0)
    assert "e^11" in loose_words(hr.Budget(epsilon=11), None)
    assert "e^30" in loose_words(hr.Budget(epsilon=1), 30.0)


def run(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def test_a_release_says_what_it_buys_before_it_spends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text("attributes: {sex: [F, M], n: {bins: [0, 20, 1]}}\n")
    rows = np.random.default_rng(1).integers(0, 20, 300)
    Path("d.csv").write_text("sex,n\n" + "\n".join(f"{'FM'[i % 2]},{i}" for i in rows))
    made = run("release", "d.csv", "--schema", "s.yaml", "--epsilon", "0.05", "--expect", 300, "--anyway")
    assert made.exit_code == 0
    said = " ".join(made.stderr.split())
    assert "THAT IS NEXT TO NOTHING" in said
    assert "% of about 300 rows" in said
    weak = run("release", "d.csv", "--schema", "s.yaml", "--epsilon", "12", "--ledger", "other.db",
               "--new-ledger", "a test", "--out", "weak")  # fmt: skip
    assert "weak promise" in " ".join(weak.stderr.split())
    assert "good from about" in " ".join(weak.stdout.split())
