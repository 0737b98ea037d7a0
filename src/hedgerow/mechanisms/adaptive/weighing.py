"""Weighing: a model against the residuals that were measured, and tables that agree and are not negative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.residuals.basis import Names
from hedgerow.learning.residuals.nonnegative import nonnegative, outermost
from hedgerow.learning.residuals.shrinkage import combined, doubts, remainder_weights
from hedgerow.synopsis.reconciled import Reconciled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.factored import FactoredHypothesis
    from hedgerow.learning.residuals.noisy import NoisyResiduals

    Floats = NDArray[np.float64]

_WALK = 40  # more pairs than this are read off a tree together


def weighed(
    hypothesis: FactoredHypothesis,
    evidence: NoisyResiduals,
    live: Sequence[Names],
    followed: Mapping[Names, float],
) -> Reconciled:
    """WEIGH the model against what was measured; make tables agree.

    A tree of tables holds few pairs as they were measured. So pairs are weighed and made to
    agree first, and what the model says of a triple is brought to them before it is weighed against the
    triple's own residual: most of what a triple shows follows from its pairs, and cells that its pairs leave
    empty stay empty.

    Args:
        hypothesis: the model.
        evidence: what was measured.
        live: the sets whose residuals were measured, with all inside them.
        followed: what part of the noise of each the model has followed.
    """
    basis = evidence.basis
    first = [s for s in live if hypothesis.whole or len(s) < 3]
    model = _model_parts(hypothesis, evidence, first)
    weights = remainder_weights(evidence, model, followed)
    parts = combined(evidence, model, weights)
    larger = [s for s in live if s not in model]
    if larger:
        pairs = tuple(outermost(first))
        parts = nonnegative(basis, parts, pairs, min(map(evidence.blur, pairs)))
        known = Reconciled(evidence, parts, pairs, rakes=True)
        for s in larger:
            table = known.raked(s, hypothesis.total * hypothesis.marginal(s))
            model[s] = basis.residual(s, table)
        weights = remainder_weights(evidence, model, followed)
        parts |= {s: p for s, p in combined(evidence, model, weights).items() if s in set(larger)}
    unsure = doubts(evidence, model, followed, weights)
    if not any(w > 0.0 for w in weights.values()):  # the model is the best estimate
        return Reconciled(evidence, {}, (), rakes=False, doubts=unsure)
    largest = tuple(outermost(live))
    agreed = nonnegative(basis, parts, largest, min(map(evidence.blur, largest)))
    return Reconciled(evidence, agreed, largest, rakes=True, doubts=unsure)


def modelled(hypothesis: FactoredHypothesis, evidence: NoisyResiduals, s: Names) -> Floats:
    """The model's residual of a set."""
    if not s:
        return np.array(hypothesis.total)
    return evidence.basis.residual(s, hypothesis.total * hypothesis.marginal(s))


def _model_parts(
    hypothesis: FactoredHypothesis, evidence: NoisyResiduals, live: Sequence[Names]
) -> dict[Names, Floats]:
    """The model's residuals; of very many pairs in one walk over the tree."""
    out: dict[Names, Floats] = {(): np.array(hypothesis.total)}
    names, index = hypothesis.domain.names, hypothesis.domain.index
    pairs = [s for s in live if len(s) == 2]
    if not hypothesis.whole and len(pairs) > _WALK:
        nodes = sorted({(index(a), 0) for s in pairs for a in s})
        wanted = set(pairs)
        for (a, b), table in hypothesis.pairs(nodes).items():
            s = (names[a[0]], names[b[0]])
            if s in wanted:
                out[s] = evidence.basis.residual(s, hypothesis.total * table)
    return out | {s: modelled(hypothesis, evidence, s) for s in live if s not in out}
