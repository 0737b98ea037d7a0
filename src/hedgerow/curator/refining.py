"""Refining: a closer answer drawn given a weaker one, so that both cost what the closer one costs.

Privacy: the theorem of docs/privacy/refining.md. With noise drawn by `refined_laplace`, all answers of a
chain together lose what the last one alone would lose, whatever else was asked in between and however the
accuracies were chosen; the charges add up to that. It rests on four things, all of which are checked here
or in the ledger's transaction: the weaker answer is the ledger's own, of the same statistic and noise;
the exact numbers are the same ones, because the rows are; an answer is refined once; charges are added up
as epsilon.

The rows are the same ones if the data file is the one that it was for the weaker answer, was not touched
since, and is read in the same way by the same versions, time zones' rules among them: that is the mark which
answers that can be refined have in the ledger, as secret state. A frame in memory is its holder's, who may
change it: its exact numbers are held, within bounds, as long as it is open, and the mark names them. Of
sources that change without a trace there is none, and their answers are measured afresh.
"""

from __future__ import annotations

import hashlib
import secrets
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hedgerow.curator.noise.refined import refined_laplace
from hedgerow.curator.rows.files import FileEngine, LaterFile
from hedgerow.curator.rows.memory import MemoryEngine
from hedgerow.curator.statistics.claimed import claims_of
from hedgerow.curator.statistics.target import MeasureTarget
from hedgerow.errors import DataChanged, LedgerError
from hedgerow.privacy.event import Event, Laplace, RefinedLaplace
from hedgerow.privacy.ledger.book import question_digest
from hedgerow.queries.domain import encoding
from hedgerow.queries.domain.days import zone_database
from hedgerow.queries.measurement import Measurement, Noise, unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.statistics.statistics import Statistic
    from hedgerow.privacy.ledger.entry import Entry


_CHANGED = "the rows may have changed since the weaker answer was given; measure afresh"
_HELD, _HELD_BYTES = 1024, 1 << 26  # answers about a frame whose exact numbers are held, and those in bytes


def mark_of(curator: Curator, event: Event, request: str | None, exact: Any) -> bytes | None:
    """What the ledger keeps beside an answer that may be refined: which rows it is about; else nothing.

    Args:
        curator: of the rows.
        event: the private act.
        request: its id; what has none is never asked for again.
        exact: what the noise is added to.
    """
    if curator.ledger.currency != "epsilon" or request is None:
        return None
    if not isinstance(event, Laplace | RefinedLaplace) or curator.scope is not None:
        return None  # blocks are charged one by one
    if not isinstance(exact, list) or len(exact) != 1:
        return None  # several answers at once, or a guest's act: neither is refined
    if isinstance(curator.table._engine, MemoryEngine):
        return _hold(curator._rows.exact, exact[0])
    return _file_mark(curator)


def _hold(held: dict[bytes, NDArray[np.int64]], exact: NDArray[np.int64]) -> bytes:
    """Hold exact numbers under a new mark; the oldest go, by sizes that depend on no row."""
    mark = secrets.token_bytes(16)
    if exact.nbytes <= _HELD_BYTES:
        held[mark] = exact.copy()
    while len(held) > _HELD or sum(numbers.nbytes for numbers in held.values()) > _HELD_BYTES:
        held.pop(next(iter(held)))
    return mark


def _file_mark(curator: Curator) -> bytes | None:
    """Changes whenever rows may have changed, or what they are read as; says nothing about them."""
    import numpy as np
    import pyarrow as pa

    import hedgerow

    engine = curator.table._engine
    if not isinstance(engine, FileEngine | LaterFile) or not engine.moments:
        return None
    versions = (hedgerow.__version__, pa.__version__, np.__version__, zone_database())
    reader = (versions, encoding.ENCODING, curator.ledger.settings.spelling)
    about = repr((engine.moments, engine.read_as, curator.table.unit, reader))
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
    if weaker.state is None or curator.scope is not None or curator.ledger.lost_after(line):
        return False
    return weaker.state in curator._rows.exact or weaker.state == _file_mark(curator)


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
        raise DataChanged(_CHANGED)
    (said,), parts = unpack(weaker.answer), _parts(curator, weaker)

    def draw(values: list[NDArray[np.int64]]) -> list[NDArray[Any]]:
        exact = values[0]
        return [exact + refined_laplace(said - exact, parts, step, curator._entropy)]

    (made,) = curator._act(
        event,
        lambda: [_exact(curator, statistic, weaker.state)],
        draw,
        question,
        request=event.request,
        note=note,
        run=run,
    )
    return asked.measurement(Noise("laplace", scale, statistic.denominator), made, curator.private)


def _exact(curator: Curator, statistic: Statistic, mark: bytes | None) -> NDArray[np.int64]:
    """The exact numbers that an answer with a mark was about."""
    held = curator._rows.exact.get(mark or b"")
    exact = statistic.exact(curator._rows) if held is None else held
    if held is None and mark != _file_mark(curator):  # touched while it was read, or let go meanwhile
        raise DataChanged(_CHANGED)
    return exact


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
