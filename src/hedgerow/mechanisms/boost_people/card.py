"""The card of BoostedClassifier."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hedgerow.mechanisms.card import Auditor, Card

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator


def _audit(auditor: Auditor) -> None:
    """One round of each mode against a row of full weight, drawn often; and whole runs."""
    from hedgerow.learning.learners.histogram_learner import HistogramLearner
    from hedgerow.mechanisms.boost_people.classifier import BoostedClassifier

    learner: Any = HistogramLearner(rounds=2)
    paper: dict[str, Any] = {"mode": "theorem", "gamma": 0.5, "eta": 0.4}
    rows, swaps = auditor.pairs("tables", people=[1]), auditor.pairs("tables", people=[1], replace=True)
    delta = auditor.delta
    auditor.one_act(act=lambda c, e: c.measure(full_weight(), e), delta=delta)
    auditor.one_act(act=_smooth_round, worlds=swaps)
    auditor.several_acts(
        act=lambda c, e: BoostedClassifier(e, delta, base_learner=learner).fit_curator(c),
        worlds=rows,
        delta=delta,
        share=0.1,
    )
    auditor.several_acts(
        act=lambda c, e: BoostedClassifier(e, 0, **paper).fit_curator(c), worlds=swaps, share=0.1
    )


def full_weight() -> Any:
    """Weighted counts after a history that gets rows with a = 0 or a = 2 as wrong as can be."""
    import numpy as np

    from hedgerow.curator.statistics.weighted import REACH, STEPS, WeightedSums
    from hedgerow.mechanisms.boost_people.rounds import logistic_weights
    from hedgerow.queries.strategies.column import Column

    margins = {"a": np.array([REACH, STEPS, -REACH])}
    columns = (Column("a", [0, 1, 2], [1, 1, 1]), Column("b", [0, 1], [2, 2]))
    return WeightedSums("b", [0, 1], 0, margins, logistic_weights(), columns)


def _smooth_round(curator: Curator, epsilon: float) -> Any:
    """A round of the theorem's mode after two hypotheses, at the whole of an epsilon claim."""
    import numpy as np

    from hedgerow.curator.statistics.smooth import SmoothRound, weak_hypothesis
    from hedgerow.mechanisms.boost_people.rounds import penalties_of, stumps
    from hedgerow.privacy.sampled import sampled_base

    cap, samples = 3, max(1, int(3 * epsilon / 2))
    base = sampled_base(Fraction(epsilon), samples, Fraction(1, cap))
    votes = {"a": np.array([2, 0, -2])}
    offered = {"a": stumps(curator.domain["a"])}  # type: ignore[index]
    return weak_hypothesis(
        curator, SmoothRound("b", np.array([0, 1]), votes, penalties_of(0.7, 2), offered, cap, samples, base)
    )


CARDS = (
    Card(
        name="BoostedClassifier",
        home="hedgerow.mechanisms.boost_people.classifier",
        kind="classifier",
        words="a scikit-learn estimator whose training is private",
        when="a label is to be predicted",
        page="boosting.md",
        audits=_audit,
    ),
)
