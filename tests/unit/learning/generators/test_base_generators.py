"""What every base synopsis generator owes boosting, and what boosting takes on nobody's word."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.generators.base_generator import BaseGenerator, Generated, SampledAnswers
from hedgerow.learning.generators.enumeration import Enumeration
from hedgerow.learning.generators.linear_program import LinearProgram
from hedgerow.queries.query import ONE
from hedgerow.testing import contracts

DOMAIN = hr.Domain({"a": 3, "b": 2})
W = tuple(hr.marginals(DOMAIN, 2))
LOW = (hr.LargestCount("a"), hr.LevelsAbove("a", 2), hr.LargestGap("a", 9))
ROWS = {"a": [0, 1, 1, 2] * 3, "b": [0, 0, 1, 1] * 3}
N = 12
TABLE = np.array([3, 0, 3, 3, 0, 3], dtype=float)  # a x b


@dataclass(frozen=True)
class LeastSquares:
    """One's own: the non-negative table nearest to the noisy answers, shown or not."""

    shows: bool = True
    wrong: str = ""

    def begin(self, domain: hr.Domain, questions: tuple[Any, ...]) -> Any:
        return Squares(np.array([(q.weights / ONE).ravel() for q in questions]), self.shows, self.wrong)


@dataclass(frozen=True, eq=False)
class Squares:
    matrix: np.ndarray
    shows: bool
    wrong: str
    draws: bool = False

    def range(self, rows: int) -> float:
        return inf

    def generate(self, sample: SampledAnswers) -> Generated | None:
        table = np.full(self.matrix.shape[1], sample.total / self.matrix.shape[1])
        some = self.matrix[sample.places]
        for _ in range(300):
            table = np.maximum(table - some.T @ (some @ table - sample.answers) / 8, 0.0)
        answers = self.matrix @ table
        if self.wrong == "shape":
            return Generated(answers[1:])
        return Generated(answers + (1e6 if self.wrong == "misfit" else 0), table if self.shows else None)


GENERATORS: dict[str, tuple[BaseGenerator, tuple[Any, ...]]] = {
    "linear program": (LinearProgram(), W),
    "enumeration": (Enumeration(), W),
    "enumeration of no sums": (Enumeration(), LOW),
    "own": (LeastSquares(), W),
}


def truth(questions: tuple[Any, ...]) -> np.ndarray:
    if questions is LOW:
        return np.array(
            [float(q.values(TABLE.reshape(3, 2).sum(axis=1).astype(np.int64))) for q in questions]
        )
    return np.array([(q.weights.ravel() / ONE * TABLE).sum() for q in questions])


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_keeps_the_contract(name: str) -> None:
    generator, questions = GENERATORS[name]
    contracts.check_generator(lambda: generator, questions)


@pytest.mark.parametrize("name", ["linear program", "enumeration", "enumeration of no sums"])
def test_ours_say_that_nothing_fits_when_nothing_does(name: str) -> None:
    generator, questions = GENERATORS[name]
    at_work = generator.begin(DOMAIN, questions)
    at_work.range(N)
    impossible = SampledAnswers(np.arange(3), np.full(3, 100.0 * N), 0.5, float(N))
    assert at_work.generate(impossible) is None


def curator() -> hr.Curator:
    table = hr.Table.open({k: v * 100 for k, v in ROWS.items()}, DOMAIN)
    return hr.Curator(table, hr.Budget(4.0, 1e-6), ":memory:", "replace")


@pytest.mark.parametrize("shows", [True, False])
def test_boosting_with_a_generator_of_ones_own(shows: bool, tmp_path: Path) -> None:
    """False alarm: beta = 1e-6."""
    guard = curator()
    made = hr.BoostQueries(generator=LeastSquares(shows), beta=1e-6).release(guard, list(W))
    assert made.provenance.parameters["generator"] == "LeastSquares"
    assert made.failed == 0
    asked = made.answer(list(W), confidence=1 - 1e-6)
    assert (np.abs(asked.value - 100 * truth(W)) <= asked.error).all()
    assert asked.error.max() < 600
    made.save(tmp_path / "own.hedgerow")
    again = hr.Synopsis.load(tmp_path / "own.hedgerow")
    np.testing.assert_array_equal(again.answer(list(W)).value, asked.value)
    assert ("sample" in again.can) == shows
    if not shows:
        with pytest.raises(hr.UnsupportedQuery, match="cannot sample"):
            again.sample(5)


def test_a_generator_that_does_not_fit_is_not_believed() -> None:
    guard = curator()
    made = hr.BoostQueries(generator=LeastSquares(wrong="misfit"), samples=4, rounds=2).release(
        guard, list(W)
    )
    assert made.failed == 2
    assert made.answer(W[0]).error >= made.total
    assert guard.remaining.rho < 1e-9 * guard.budget.rho  # charged in full


def test_what_is_no_generator_or_returns_no_synopsis_is_refused_in_a_sentence() -> None:
    for wrong in (3, "guess", object(), None):
        guard = curator()
        with pytest.raises(hr.HedgerowError, match="generator"):
            hr.BoostQueries(generator=wrong).release(guard, list(W))  # type: ignore[arg-type]
        assert guard.spent.rho == 0
    with pytest.raises(hr.UnsupportedQuery, match="for every question"):
        hr.BoostQueries(generator=LeastSquares(wrong="shape")).release(curator(), list(W))


def test_a_generator_is_given_released_numbers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is handed: the noisy measurement itself, and public numbers."""
    from hedgerow.curator.curator import Curator

    seen: list[Any] = []
    handed: list[SampledAnswers] = []
    measure, generate = Curator.measure, Squares.generate

    def measuring(self: Any, *args: Any, **kw: Any) -> Any:
        seen.append(measure(self, *args, **kw))
        return seen[-1]

    def generating(self: Any, sample: SampledAnswers) -> Any:
        handed.append(sample)
        return generate(self, sample)

    monkeypatch.setattr(Curator, "measure", measuring)
    monkeypatch.setattr(Squares, "generate", generating)
    hr.BoostQueries(generator=LeastSquares(), samples=4, rounds=3).release(curator(), list(W))
    assert len(handed) == 3
    for sample, noisy in zip(handed, seen, strict=True):
        assert sample.answers is noisy.counts
        assert sample.total == 1200
