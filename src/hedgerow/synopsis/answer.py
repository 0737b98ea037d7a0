"""Answer: a number, how far off it may be, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.figures import bound, signed
from hedgerow.synopsis.frame import Frame

if TYPE_CHECKING:
    from hedgerow.plot import Plot
    from hedgerow.privacy.budget import Budget

Source = Literal["certified", "measured", "learned"]
_SHOWN = 12  # rows of a repr


@dataclass(frozen=True, eq=False)
class Answer:
    """What a question gets: value and error bound in the question's unit.

    Args:
        value: a number, or an array for a table or a list of questions.
        error: |value - truth| stays within this with probability `confidence`, per number unless
            `simultaneous`. The truth is the answer on the bounded table.
        confidence: how often the error bound holds.
        source: `certified` (a sparse-vector test vouches for it), `measured` (its own noise), or `learned`
            (from a hypothesis; the error is indicative only, unless `notes` say more).
        cost: what asking it cost now; None when it was free.
        cached: whether the same answer was given before.
        simultaneous: whether the bound holds for all numbers at once; if certified, for all certified numbers
            of the session or run that state this confidence or a higher one.
        notes: sentences that belong to the answer.
        table: the rows and columns of a grouped answer, when there are any.
        sources: the source of each number, when they were asked together and differ; `source` is then the
            least of them.
        axes: of a whole table, each attribute with its levels' names.
        indicative: of an answer that is learned in part, how often the bounds of learned numbers are meant to
            hold, where that is not `confidence`.
        ends: of a number without a table, two that the truth lies between whatever the noise is.

    >>> answer = Answer(120.4, 7.7, 0.95, "measured")
    >>> answer, answer.low
    (Answer(120.4 ± 7.7 at 0.95, measured), 112.7)
    """

    value: Any
    error: Any
    confidence: float
    source: Source
    cost: Budget | None = None
    cached: bool = False
    simultaneous: bool = False
    notes: tuple[str, ...] = ()
    table: Any = None
    sources: Any = None
    axes: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    indicative: float | None = None
    ends: tuple[float, float] | None = None

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.value, dtype=dtype)

    @property
    def low(self) -> Any:
        """Where the truth may begin: the value less its error, and no less than the declared range."""
        if self.table is not None:
            return self.table.low
        return self.value - self.error if self.ends is None else max(self.value - self.error, self.ends[0])

    @property
    def high(self) -> Any:
        """Where the truth may end: the value and its error, and no more than the declared range."""
        if self.table is not None:
            return self.table.high
        return self.value + self.error if self.ends is None else min(self.value + self.error, self.ends[1])

    # -- for people ---------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if not np.size(self.value):
            body = "no numbers" if self.table is None else f"{len(self.table):,} rows without numbers"
            return f"Answer({body} at {self.confidence:.4g}, {self.source})"
        if np.ndim(self.value) == 0:
            body = f"{signed(float(self.value), float(self.error))} ± {bound(float(self.error))}"
            return f"Answer({body} at {self.confidence:.4g}, {self.source})"
        return f"{Frame.of(self).text(_SHOWN)}\n{self.words}"

    def _repr_html_(self) -> str:
        said = "".join(f"<br>{escape(note)}" for note in self.notes)
        return f"{Frame.of(self).html()}<p><small>{escape(self.words)}{said}</small></p>"

    @property
    def has_numbers(self) -> bool:
        """Whether it says any number: a list of groups may have none."""
        return self.table is None or any(column.aggregate for column in self.table.show)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What to say of bounds that have no end, or are meant for less than `confidence`, as notes."""
        endless = () if self.table is None else self.table.endless
        if self.indicative is None:
            return endless
        meant = f"Bounds of learned numbers are meant to hold with {self.indicative:.4g} confidence."
        return (*endless, meant)

    @property
    def words(self) -> str:
        """What its error bounds mean, as a sentence.

        >>> Answer(120.4, 7.7, 0.95, "learned").words
        'Error bounds are meant to hold with 0.95 confidence for each number (learned, indicative only).'
        """
        whose = "all numbers at once" if self.simultaneous else "each number"
        learned = self.source == "learned"
        hold, also = ("are meant to hold", ", indicative only") if learned else ("hold", "")
        again = ", as answered before" if self.cached else ""
        sure = f"with {self.confidence:.4g} confidence"
        each = np.asarray([] if self.sources is None else self.sources)
        paid = [s for s in np.unique(each) if s != "learned"]
        if learned and paid:
            named = " and ".join(str(s) for s in paid) + f" ({np.sum(each != 'learned')} of {each.size})"
            meant = "" if self.indicative is None else f"meant for {self.indicative:.4g} and "
            return (
                f"Error bounds hold {sure} for {whose} that is {named}; those of learned numbers, which were "
                f"to be no wider, are {meant}indicative only{again}."
            )
        return f"Error bounds {hold} {sure} for {whose} ({self.source}{also}{again})."

    # -- for other programs -------------------------------------------------------------------------------

    def to_pandas(self) -> Any:
        """A pandas data frame: groups, then each number as NAME, NAME_low, NAME_high and NAME_source."""
        return Frame.of(self).to_pandas()

    def to_polars(self) -> Any:
        """The same as a polars data frame."""
        return Frame.of(self).to_polars()

    def to_arrow(self) -> Any:
        """The same as a pyarrow table."""
        return Frame.of(self).to_arrow()

    def plot(self, title: str | None = None) -> Plot:
        """A picture: bars with whiskers, a line with its band for dates and bins, a heat map for two groups.

        Args:
            title: what to write above it.
        """
        from hedgerow.synopsis.drawing import plotted

        return plotted(Frame.of(self), title)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": _plain(self.value),
            "error": _plain(self.error),
            "confidence": self.confidence,
            "source": self.source,
            "sources": None if self.sources is None else np.asarray(self.sources).tolist(),
            "cost": None if self.cost is None else {"epsilon": self.cost.epsilon, "delta": self.cost.delta},
            "cached": self.cached,
            "simultaneous": self.simultaneous,
            "notes": list(self.notes),
        }


def _plain(value: Any) -> Any:
    """Numbers as JSON has them; what is not finite becomes null."""
    if np.ndim(value):
        return [_plain(v) for v in value]
    return float(value) if np.isfinite(value) else None
