"""Prediction and Plan: what each mechanism is expected to do, as a table, as data and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any

from hedgerow.errors import UnknownName
from hedgerow.mechanisms import cards
from hedgerow.release.numerals import amount, meaning

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Kind
    from hedgerow.mechanisms.task import Task
    from hedgerow.plot import Plot

HEADS = ("mechanism", "theorem", "rows needed", "error (rows)", "% of rows", "time", "memory", "verdict")


@dataclass(frozen=True)
class Prediction:
    """What one mechanism is expected to do.

    Args:
        mechanism: its name in `hedgerow`.
        kind: `offline` (releases once) or `online` (answers question by question).
        low, high: the root mean square error per answer in rows; equal where it follows from public numbers.
        how: where that comes from: `closed form`, `simulated`, or `` where it is not known.
        bound: the theorem's error of any answer as a fraction of the rows; None where nothing is proved, or
            the theorem's parameters are too large to be run.
        order_of: whether the theorem hides constants.
        rows_needed: rows at which the theorem promises a tenth of them.
        theorem: which one.
        parameters: what the mechanism must be given, by name, to state that bound.
        unproved: why the theorem cannot be run here, or empty.
        seconds, megabytes: what a run takes.
        refused: why it cannot be used, or None.
        verdict: one sentence.
        errors: simulated errors by population.
    """

    mechanism: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    how: str = ""
    bound: float | None = None
    order_of: bool = False
    rows_needed: float | None = None
    theorem: str = ""
    seconds: float | None = None
    megabytes: float | None = None
    refused: str | None = None
    verdict: str = ""
    errors: tuple[tuple[str, tuple[float, ...]], ...] = ()
    parameters: tuple[tuple[str, Any], ...] = ()
    unproved: str = ""

    @property
    def error(self) -> float | None:
        """The middle of the range, in rows."""
        if self.low is None or self.high is None:
            return None
        return sqrt(self.low * self.high)

    @property
    def vacuous(self) -> bool:
        """Whether the theorem says nothing."""
        return self.bound is not None and not self.bound < 1.0

    def to_json(self, rows: int) -> dict[str, Any]:
        """Plain data; errors also as shares of the rows."""
        return {
            "mechanism": self.mechanism,
            "kind": self.kind,
            "applies": self.refused is None,
            "error_rows": None if self.low is None else [self.low, self.high],
            "error_share": None if self.low is None else [self.low / rows, (self.high or 0.0) / rows],
            "error_from": self.how,
            "theorem": self.theorem,
            "theorem_bound": _finite(self.bound),
            "theorem_vacuous": self.vacuous,
            "theorem_order_of": self.order_of,
            "theorem_rows_needed": _finite(self.rows_needed),
            "theorem_parameters": dict(self.parameters),
            "seconds": self.seconds,
            "megabytes": self.megabytes,
            "simulated": {name: list(e) for name, e in self.errors},
            "verdict": self.verdict,
        }

    def cells(self, rows: int) -> tuple[str, ...]:
        """The row of a table, in words."""
        error = share = "-"
        if self.low is not None and self.high is not None:
            error = _span(self.low, self.high, number)
            share = _span(100.0 * self.low / rows, 100.0 * self.high / rows, lambda x: f"{x:.2g}")
        return (
            self.mechanism,
            self._promise(),
            "-" if self.rows_needed is None else number(self.rows_needed),
            error,
            share,
            "-" if self.seconds is None else f"{number(self.seconds)} s",
            "-" if self.megabytes is None else f"{number(max(self.megabytes, 1.0))} MB",
            self.verdict,
        )

    def _promise(self) -> str:
        if self.bound is None:
            return "none proved" if self.refused is None else "-"
        said = "vacuous" if self.vacuous else f"{100.0 * self.bound:.2g}%"
        return f"order of {said}" if self.order_of and not self.vacuous else said


@dataclass(frozen=True, repr=False)
class Plan:
    """Predictions for every mechanism, best first, and a recommendation.

    Its text is the table; in a notebook it is HTML. `curve` says what another epsilon would bring,
    `chart` draws errors against rows, queries and epsilon.
    """

    task: Task
    rows: tuple[Prediction, ...]
    recommended: str
    advice: str
    simulated: bool = True
    why: str = ""
    kinds: tuple[tuple[str, float | None], ...] = ()

    @property
    def by_question(self) -> str:
        """Which error for which questions, in a sentence; empty where it was not tried."""
        if not self.kinds:
            return ""
        said = [
            f"{words} ±{number(e)}" if e is not None else f"{words} not answered" for words, e in self.kinds
        ]
        return f"Counts by {self.recommended}, typically: {', '.join(said)} rows."

    @property
    def meaning(self) -> str:
        """What the plan's epsilon means, in a sentence."""
        return meaning(self.task.budget)

    @property
    def said(self) -> list[str]:
        """All that is said below the table."""
        return [line for line in (self.advice, self.by_question, self.meaning) if line]

    @property
    def command(self) -> str:
        """The recommended mechanism's name on the command line."""
        return cards.card(self.recommended).command if self.recommended else ""

    def _ipython_key_completions_(self) -> list[str]:
        return [row.mechanism for row in self.rows]

    def __getitem__(self, mechanism: str) -> Prediction:
        for row in self.rows:
            if isinstance(mechanism, str) and row.mechanism == mechanism:
                return row
        known = ", ".join(row.mechanism for row in self.rows)
        raise UnknownName(f"a plan is asked for a mechanism by its name, one of {known}")

    @property
    def title(self) -> str:
        """What was planned."""
        t = self.task
        asked = f"queries of {t.sparsity:,} names" if t.workload is None else t.workload.name
        return f"{t.rows:,} rows, {asked} ({t.queries:,} queries), {amount(t.budget)}, {t.privacy.neighbours}"

    def table(self) -> list[tuple[str, ...]]:
        """The table's rows, in words, in the order of `HEADS`."""
        return [row.cells(self.task.rows) for row in self.rows]

    def __repr__(self) -> str:
        lines = [HEADS, *self.table()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
        text = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([self.title, "", *text, "", *self.said])

    def _repr_html_(self) -> str:
        sides = ("left", "left", *["right;white-space:nowrap"] * 5, "left")  # words left, numbers right

        def line(cells: Sequence[str], tag: str) -> str:
            made = (
                f'<{tag} style="padding:0.2em 0.6em;text-align:{s}">{escape(c)}</{tag}>'
                for s, c in zip(sides, cells, strict=True)
            )
            return f"<tr>{''.join(made)}</tr>"

        body = "".join(line(cells, "td") for cells in self.table())
        head = line(HEADS, "th")
        return (
            f"<p><b>Plan</b>: {escape(self.title)}</p>"
            f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
            f"<p><small>{'<br>'.join(map(escape, self.said))}</small></p>"
        )

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "task": self.task.to_json(),
            "recommended": self.recommended,
            "command": self.command,
            "why": self.why,
            "advice": self.advice,
            "questions": [{"count_of": words, "error_rows": e} for words, e in self.kinds],
            "meaning": self.meaning,
            "simulated": self.simulated,
            "mechanisms": [row.to_json(self.task.rows) for row in self.rows],
        }

    def curve(self, epsilons: Sequence[float], *, simulate: bool | None = None) -> list[dict[str, Any]]:
        """The expected error of every mechanism at other values of epsilon, to choose one.

        Args:
            epsilons: values above 0.
            simulate: whether simulated mechanisms are tried again at each (seconds per value); as the plan
                was made if None.

        Returns:
            One dict per mechanism and epsilon: `mechanism`, `epsilon`, `low`, `high` (rows), `share`.
        """
        from hedgerow.release.plan.curve import over_epsilon

        return over_epsilon(self, epsilons, self.simulated if simulate is None else simulate)

    def chart(self, *, simulate: bool | None = None) -> dict[str, Any]:
        """A Vega-Lite specification: errors against rows, number of queries, and epsilon.

        Args:
            simulate: whether simulated mechanisms are tried again along the axes; as the plan was made if
                None.
        """
        from hedgerow.release.plan.curve import picture

        return picture(self, self.simulated if simulate is None else simulate)

    def plot(self, *, simulate: bool | None = None) -> Plot:
        """The same as a picture, which a notebook shows and `save` writes.

        Args:
            simulate: as in `chart`.
        """
        from hedgerow.plot import Plot

        return Plot(self.chart(simulate=simulate), "errors against rows, queries and epsilon")


def number(value: float) -> str:
    """A size in two significant digits, as people read it.

    >>> number(12345.0), number(0.0123), number(3.2e9), number(float("inf"))
    ('12,000', '0.012', '3.2e+09', 'none')
    """
    if not isfinite(value):
        return "none"
    if value >= 1e8:
        return f"{value:.1e}"
    if value >= 100.0:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.2g}"


def _span(low: float, high: float, form: Any) -> str:
    one, two = form(low), form(high)
    return one if one == two else f"{one} to {two}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
