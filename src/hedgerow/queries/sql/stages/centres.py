"""Centres: about where products of columns are counted from - their averages, where those cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from hedgerow.errors import HedgerowError
from hedgerow.queries.domain.lattice import spelled
from hedgerow.queries.domain.refined import cutting
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.first import FirstStage

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.question import Question

    Conditions = Sequence[exp.Expr]
    Ask = Callable[[Sequence[Question]], Sequence[Any]]

_DIGITS = 5  # of the range: the same for every confidence


@dataclass(frozen=True)
class Centres:
    """Averages that a statement has use for, and those of them that were released.

    Which number is taken changes no answer but by noise, so it need not be exact; it must be public.

    Args:
        known: by its words the number that was released of an average, spelled; empty where there was none.
        wanted: of the others, the conditions on rows and what is averaged.
    """

    known: Mapping[str, str] = field(default_factory=dict)
    wanted: dict[str, tuple[Conditions, exp.Expr]] = field(default_factory=dict)

    def of(self, where: Conditions, node: exp.Expr) -> str:
        """About what an expression is on average over rows that meet conditions; empty if not known."""
        words = repr([printed(n) for n in (*where, node)])
        if words not in self.known:
            self.wanted.setdefault(words, (where, node))
        return self.known.get(words, "")

    def released(self, domain: Domain, unit: str | None, ask: Ask) -> dict[str, str]:
        """What is known with those that are wanted asked for too.

        Args:
            domain, unit: as in `hedgerow.sql`.
            ask: answers questions, for free.
        """
        return {**self.known, **{w: _average(domain, unit, ask, *asked) for w, asked in self.wanted.items()}}


def _average(domain: Domain, unit: str | None, ask: Ask, where: Conditions, node: exp.Expr) -> str:
    def read(cells: Domain) -> FirstStage:
        made = FirstStage(cells, unit, "centre", where, [])
        made.add(exp.Avg(this=node.copy()))
        return made

    try:
        stage = cutting(domain, read)
        (answer,) = ask(stage.questions())
    except (HedgerowError, ValueError):  # it has none, as texts, or rows that are surely none
        return ""
    value, ends = float(answer.table.values[0, 0]), stage.slices[0].rows.span(node)
    if not isfinite(value) or ends is None or not ends[0] < ends[1]:
        return ""
    return spelled(round(Fraction(value), _DIGITS - floor(log10(ends[1] - ends[0]))))
