"""Refining: a closer answer drawn given a weaker one, so that both cost what the closer one costs.

Privacy: the theorem of docs/privacy/refining.md. With noise drawn by `refined_laplace`, all answers of a
chain together lose what the last one alone would lose, whatever else was asked in between and however the
accuracies were chosen; the charges add up to that. It rests on four things, all of which are checked here
or in the ledger's transaction: the weaker answer is the ledger's own, of the same statistic and noise;
the exact numbers are the same ones, because the rows are; an answer is refined once; charges are added up
as epsilon.

The rows are the same ones if the data file is the one that it was for the weaker answer, was not touched
since, and is read in the same way, or if the frame in memory is the one that is still open: that is the
mark which answers that can be refined have in the ledger, as secret state. Of sources that change without
a trace there is none, and their answers are measured afresh.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hedgerow.curator.noise.refined import refined_laplace
from hedgerow.curator.rows.files import FileEngine, LaterFile
from hedgerow.curator.rows.memory import MemoryEngine
from hedgerow.curator.statistics.claimed import claims_of
from hedgerow.curator.statistics.target import MeasureTarget
from hedgerow.errors import DataChanged, LedgerError
from hedgerow.privacy.event import Event, Laplace, RefinedLaplace
from hedgerow.privacy.ledger.filter import question_digest
from hedgerow.queries.measurement import Measurement, Noise, unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.statistics.statistics import Statistic
    from hedgerow.privacy.ledger.entry import Entry


def mark_of(curator: Curator, event: Event, request: str | None) -> bytes | None:
    """What the ledger keeps beside an answer that may be refined: which rows it is about; else nothing."""
    pure = curator.ledger.currency == "epsilon" and isinstance(event, Laplace | RefinedLaplace)
    return _mark(curator) if pure and request is not None else None


def _mark(curator: Curator) -> bytes | None:
    """Changes whenever rows may have changed; says nothing about them."""
    engine = curator.table._engine
    if curator.scope is not None:
        return None  # blocks are charged one by one
    if isinstance(engine, MemoryEngine):
        return curator._rows.opened
    if not isinstance(engine, FileEngine | LaterFile) or not engine.moments:
        return None
    about = repr((engine.moments, engine.read_as, curator.table.unit))
    return hashlib.sha256(about.encode()).digest()[:16]


def can_refine(curator: Curator, target: Any, line: int) -> bool:
    """Whether the answer of a line can be refined with these rows now; depends on no row.

    Args:
        curator: of the rows.
        target: what was measured.
        line: of the answer in the ledger.
    """
    statistic = _asked(curator, target).statistic
    weaker = curator.ledger.entry(line)
    if weaker is None or not _is_of(curator, statistic, weaker) or claims_of(statistic):
        return False
    return weaker.state is not None and weaker.state == _mark(curator)


def refine(
    curator: Curator, target: Any, line: int, step: Fraction, *, note: str = "", run: str | None = None
) -> Measurement:
    """The answer of a line with less noise: 1 / scale grows by 1 / step, and epsilon by sensitivity / step.

    Args:
        curator: who pays.
        target: what was measured.
        line: of the weaker answer in the ledger.
        step: in lattice steps, see `laplace_scale`.
        note, run: as in `Curator.measure_all`.
    """
    asked, weaker = _asked(curator, target), curator.ledger.entry(line)
    statistic = asked.statistic
    if weaker is None or weaker.answer is None or not _is_of(curator, statistic, weaker):
        raise LedgerError(f"line {line} is no answer to this question that could be refined")
    before: Any = weaker.event
    scale = 1 / (1 / before.scale + 1 / step)
    event = RefinedLaplace(before.sensitivity, scale, before.scale, Fraction(line))
    question = _question(statistic, event)
    known = curator.ledger.recall(event.request, curator.bound(question, "")[0], analyst=curator.account)
    if known is None and not can_refine(curator, target, line):
        raise DataChanged("the rows may have changed since the weaker answer was given; measure afresh")
    (said,), parts = unpack(weaker.answer), _parts(curator, weaker)

    def draw(values: list[NDArray[np.int64]]) -> list[NDArray[Any]]:
        exact = values[0]
        return [exact + refined_laplace(said - exact, parts, step, curator._entropy)]

    (made,) = curator._act(
        event,
        lambda: [statistic.exact(curator._rows)],
        draw,
        question,
        request=event.request,
        note=note,
        run=run,
    )
    return asked.measurement(Noise("laplace", scale, statistic.denominator), made, curator.private)


def _asked(curator: Curator, target: Any) -> MeasureTarget:
    unit = curator.table.unit.column if curator.table.unit else None
    return MeasureTarget.of(target, curator.domain, unit)


def _is_of(curator: Curator, statistic: Statistic, weaker: Entry) -> bool:
    """Whether a line is an answer with Laplace noise to this very statistic, of this domain."""
    event = weaker.event
    if weaker.kind != "charge" or not isinstance(event, Laplace | RefinedLaplace):
        return False
    if event.sensitivity != curator.privacy.sensitivity(statistic.norms).l1:
        return False
    return weaker.question == question_digest(curator.bound(_question(statistic, event), "")[0])


def _question(statistic: Statistic, event: Event) -> str:
    """What the line of an answer is bound to; of a first one as `Curator.measure_all` has it."""
    word = "refine" if isinstance(event, RefinedLaplace) else "measure"
    return f"{word}:{statistic.digest}{event.to_json()!r}"


def _parts(curator: Curator, entry: Entry) -> list[Fraction]:
    """What each answer of a chain added to one over its scale, up to an answer: their inverses."""
    found, event = list[Fraction](), entry.event
    while isinstance(event, RefinedLaplace):
        found.append(1 / (1 / event.scale - 1 / event.weaker_scale))
        before = curator.ledger.entry(int(event.line))
        assert before is not None  # the ledger would not have taken the event
        event = before.event
    assert isinstance(event, Laplace)
    return [event.scale, *reversed(found)]
