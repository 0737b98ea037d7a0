"""Rows come back from exact and rounded answers, and from ours no more of them than epsilon allows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import command
from hedgerow.audit import reconstruction as attack
from hedgerow.audit.reconstruction import Hidden, Recovered, blind, reconstruct, recover, recovered_table


@pytest.fixture(scope="module")
def hidden() -> Hidden:
    return Hidden.of(200, 800, seed=5)


def test_exact_answers_give_a_hidden_column_of_200_rows_away(hidden):
    assert hidden.found("exact answers", hidden.exact).right >= 190


@pytest.mark.parametrize("step", [5, 10])
def test_rounded_answers_do_too(hidden, step):
    rounded = step * np.rint(hidden.exact / step)
    assert hidden.found("rounded", rounded, within=step / 2).right >= 190


def test_half_as_many_exact_answers_as_people_and_a_few_more_are_enough():
    few = Hidden.of(100, 70, seed=1)
    assert few.found("exact answers", few.exact).right == 100


@pytest.mark.parametrize("name", ["LaplaceBaseline", "HistogramRelease", "AdaptiveRelease"])
def test_our_answers_give_no_more_away_than_epsilon_allows(hidden, name):
    """Right guesses are dominated by a binomial: above its 1e-6 quantile would refute epsilon."""
    found = hidden.found(name, hidden.released(getattr(hr, name)(), 1.0), epsilon=1.0)
    assert not found.refuted
    assert found.allowed == 174


def test_noise_that_forgets_how_many_questions_there_are_is_refuted(hidden):
    noise = np.random.default_rng(2).laplace(scale=2.0, size=len(hidden.exact))
    assert hidden.found("broken", hidden.exact + noise, epsilon=1.0).refuted


def test_a_release_that_keeps_the_rows_is_refuted_through_the_same_door(hidden, monkeypatch):
    """The whole path from curator to verdict, with noise that is always nothing."""
    from hedgerow.curator.noise import noise as law

    monkeypatch.setattr(law, "discrete_laplace", lambda scale, size, entropy: np.zeros(size, dtype=np.int64))
    found = hidden.found("no noise", hidden.released(hr.HistogramRelease(), 1.0), epsilon=1.0)
    assert found.refuted


def test_without_scipy_least_squares_recovers_rows_from_exact_answers(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "scipy", None)
    few = Hidden.of(60, 120, seed=1)
    assert (recover(few.sets, few.exact) == (few.bits == 1)).all()


def test_an_attack_that_cannot_read_exact_answers_says_that_it_shows_nothing(monkeypatch, capsys):
    weak = [Recovered("exact answers", None, 200, 800, 120)]
    assert blind(weak)
    monkeypatch.setattr(command, "reconstruct", lambda progress: weak)
    assert command.run_reconstruction() == 1
    assert "shows nothing" in capsys.readouterr().err


def test_the_command_tells_what_was_recovered_and_what_is_allowed(monkeypatch, capsys):
    monkeypatch.setattr(attack, "_ours", lambda hidden: [])
    small = reconstruct(people=40, answers=120, seed=3)
    small.append(Recovered("ours", 1.0, 200, 800, 190))
    monkeypatch.setattr(command, "reconstruct", lambda progress: small)
    assert command.main(["--reconstruct", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["recovered"]
    assert rows[0]["right"] == 40
    assert rows[0]["epsilon"] is None
    assert rows[-1]["refuted"]
    assert "REFUTED" in recovered_table(small)


@pytest.mark.slow
def test_all_of_it_holds_in_many_runs(size):
    for seed in range(size(1, 20)):
        found = reconstruct(people=size(60, 200), answers=size(200, 800), seed=seed)
        assert not blind(found)
        assert not any(f.refuted for f in found)
