"""Cards of what every mechanism must beat."""

from __future__ import annotations

from functools import partial

from hedgerow.mechanisms import cost, needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later

CELLS = 1 << 27
"""A histogram of more is not held."""

_HOME = "hedgerow.mechanisms.baselines.baselines"
_RULE, _ERROR = later("baselines.promise:independent_rule"), later("estimate:independent_noise")
_NAMED = frozenset({"run"})


def _audit_laplace(auditor: Auditor) -> None:
    auditor.one_act(auditor.workload("ones"))


def _audit_gaussian(auditor: Auditor) -> None:
    auditor.one_act(auditor.workload("ones"), delta=auditor.delta)


def _audit_histogram(auditor: Auditor) -> None:
    auditor.one_act()


def _audit_response(auditor: Auditor) -> None:
    auditor.one_act(worlds=auditor.pairs(replace=True), share=0.6, by="attribute")


CARDS = (
    Card(
        name="GaussianBaseline",
        home=_HOME,
        kind="offline",
        words="Gaussian noise on every table or answer",
        when="a few hundred tables or queries, budget with a delta",
        command="gaussian",
        takes=_NAMED,
        needs=(needs.delta,),
        limits=(needs.countable,),
        plain="Gaussian",
        theorem=Theorem("[CKS20] Cor. 17", partial(_RULE, laplace=False)),
        error=partial(_ERROR, laplace=False),
        audits=_audit_gaussian,
    ),
    Card(
        name="LaplaceBaseline",
        home=_HOME,
        kind="offline",
        words="Laplace noise on every table or answer",
        when="a few tables or queries, pure epsilon",
        command="laplace",
        takes=_NAMED,
        limits=(needs.countable,),
        plain="Laplace",
        theorem=Theorem("[W3] Thm 3.8", partial(_RULE, laplace=True)),
        error=partial(_ERROR, laplace=True),
        audits=_audit_laplace,
    ),
    Card(
        name="HistogramRelease",
        home=_HOME,
        kind="offline",
        words="one noisy table of all attributes",
        when="a small domain, any question afterwards",
        command="histogram",
        whole=True,
        takes=_NAMED,
        limits=(needs.cells(CELLS),),
        theorem=Theorem(
            "[W3], [CKS20] Cor. 17",
            later("baselines.promise:histogram_rule"),
            hides=lambda task: task.pure,  # the lecture's O(.) for Laplace sums
        ),
        error=later("baselines.promise:histogram_error"),
        cost=cost.of_cells,
        audits=_audit_histogram,
    ),
    Card(
        name="RandomizedResponse",
        home=_HOME,
        kind="offline",
        words="every record randomised on its own",
        when='the local model; needs `neighbours="replace"`',
        command="randomized-response",
        stated=False,
        needs=(needs.replace,),
        limits=(needs.countable,),
        theorem=Theorem("[W3] Hoeffding", later("baselines.promise:response_rule"), hides=lambda task: True),
        audits=_audit_response,
    ),
)
