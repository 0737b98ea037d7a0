"""The card of SparseProject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.mechanisms import cost, needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator


def _audit(auditor: Auditor) -> None:
    """The tuned sketch with everything else declared, and the paper's noise on a small one."""
    names, delta = auditor.pairs("names"), auditor.delta
    declared: dict[str, Any] = {"size": 8, "blocks": 2, "length": 4, "rows": 4, "seed": bytes(32)}
    auditor.one_act(worlds=names, delta=delta, **declared)
    auditor.one_act(act=_paper_sketch, worlds=names, delta=delta)


def _paper_sketch(curator: Curator, epsilon: float) -> Any:
    """The paper's Laplace noise on a small sketch, for the whole of an (epsilon, delta) claim."""
    from hedgerow.curator.statistics.sketch import measure_sketch
    from hedgerow.queries.strategies.sketch_matrix import SketchMatrix

    matrix = SketchMatrix(6, bytes(32), columns="signs", independence=4)
    return measure_sketch(curator, matrix, epsilon, noise="laplace")


CARDS = (
    Card(
        name="SparseProject",
        home="hedgerow.mechanisms.sparse_project.sparse_project",
        kind="offline",
        words="a noisy random projection of names without end",
        when="names of an open domain, sparse questions",
        page="mechanisms/sparse-project.md",
        command="sparse-project",
        open_ended=True,
        needs=(needs.delta,),
        theorem=Theorem("[BR11] Thm 4.9", later("sparse_project.promise:rule")),
        error=later("sparse_project.promise:error"),
        cost=cost.of_names,
        audits=_audit,
    ),
)
