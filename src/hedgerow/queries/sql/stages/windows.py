"""Windows and aggregates of released numbers: printed, with bounds where they follow from the numbers'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.sql.node import only, refuse, spell
from hedgerow.queries.sql.stages.among import Among
from hedgerow.queries.sql.stages.expression import Expressions
from hedgerow.queries.sql.stages.relation import LOST
from hedgerow.queries.sql.stages.term import Term, made, smoothly

_RANKS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
    exp.Ntile: "ntile",
}
_SHIFTS: dict[type[exp.Expr], str] = {
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
}
_RISING: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Median: "median",
}
_OTHER: dict[type[exp.Expr], str] = {
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Corr: "corr",
}
_BY_NUMBER = frozenset(
    {*_RISING, *_OTHER, exp.Count} - {exp.Sum, exp.Max}
)  # those that a group of nothing moves
AGGREGATES = frozenset({*_RISING, *_OTHER, exp.Count, exp.CountIf})
_SIDES = ("PRECEDING", "FOLLOWING")


@dataclass(frozen=True)
class Ordering:
    """One entry of ORDER BY."""

    term: Term
    descending: bool
    nulls_first: bool

    @property
    def text(self) -> str:
        """As it is printed."""
        return self.after(self.term.text)

    def after(self, what: str) -> str:
        """The same order of something else."""
        return (
            f"{what} {'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        )


class ReleasedExpressions(Expressions):
    """Expressions over released tables: with aggregates of released numbers, windows and subqueries.

    `steady` says whether the rows that are aggregated or looked through would be the same with the true
    numbers: only then do bounds of numbers give bounds of a sum over them. `merged` says whether a
    number depends on which of the rows are there at all, and `there` which of them surely are (`Released`).
    """

    def __init__(self) -> None:
        super().__init__()
        self.steady = True
        self.merged = False
        self.there = ""
        self.windows: dict[str, exp.Expr] = {}

    def orderings(self, nodes: Sequence[Any]) -> list[Ordering]:
        """The entries of ORDER BY."""
        out = []
        for node in nodes:
            if type(node) is not exp.Ordered:
                refuse(node, "in ORDER BY")
            only(node, "this", "desc", "nulls_first")
            flags = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
            out.append(Ordering(self.term(node.this), *flags))
        return out

    # -- aggregates ---------------------------------------------------------------------------------------

    def aggregate(self, node: Any, over: str = "", calm: bool | None = None) -> Term:
        """An aggregate of released numbers, perhaps in a window.

        Args:
            node: the aggregate.
            over: the printed window.
            calm: whether the same rows would be aggregated with the true numbers.
        """
        calm = (self.steady if calm is None else calm) and self.there != LOST
        kind, chosen = type(node), ""
        if kind is exp.Filter:
            only(node, "this", "expression")
            condition = self.term(node.expression.this)
            chosen, calm = condition.text, calm and condition.sure
            node, kind = node.this, type(node.this)
        among = Among(chosen, over, self.there)
        tail = among.all
        self.merged = self.merged or kind in _BY_NUMBER
        if kind is exp.Count:
            return self._count(node, among, calm)
        if kind is exp.CountIf:
            inner = self.term(node.this)
            return self._settled(f"count_if({inner.text}){tail}", [inner], calm)
        if kind in _RISING:
            only(node, "this")
            inner = self.term(node.this)
            name = _RISING[kind]
            if inner.sure and self.there and kind in (exp.Avg, exp.Median):  # which of them are there is not
                inner = replace(inner, sure=False, low=inner.text, high=inner.text)
            ends = [] if inner.sure or inner.bounds is None else among.ends(name, *inner.bounds)
            found = self._settled(f"{name}({inner.text}){tail}", [inner], calm, *ends)
            return smoothly(found, [inner]) if calm and kind in (exp.Sum, exp.Avg) else found
        if kind in _OTHER:
            only(node, "this", "expression")
            parts = [self.term(node.args[k]) for k in ("this", "expression") if node.args.get(k) is not None]
            return self._settled(f"{_OTHER[kind]}({', '.join(p.text for p in parts)}){tail}", parts, calm)
        raise UnsupportedSQL(f"{spell(node)} of released numbers is not supported")

    def _count(self, node: Any, among: Among, calm: bool) -> Term:
        only(node, "this", "big_int")
        inner, tail = node.this, among.all
        if inner is None or type(inner) is exp.Star:
            return self._counted("count(*)", [], among, calm)
        if type(inner) is exp.Distinct:
            parts = [self.term(e) for e in inner.expressions]
            found = f"count(DISTINCT {', '.join(p.text for p in parts)}){tail}"
            return self._settled(found, parts, calm and not self.there)
        one = self.term(inner)
        return self._counted(f"count({one.text})", [one], among, calm)

    def _counted(self, text: str, parts: Sequence[Term], among: Among, calm: bool) -> Term:
        """How many rows there are: those that surely are, and those that may be."""
        if not self.there or not calm or not all(p.sure for p in parts):
            return self._settled(f"{text}{among.all}", parts, calm)
        return Term(
            f"{text}{among.all}",
            f"{text}{among.sure}",
            f"{text}{among.all}",
            sure=False,
            parts=1,
            linear=False,
        )

    def _settled(
        self, text: str, parts: Sequence[Term], calm: bool, low: str | None = None, high: str | None = None
    ) -> Term:
        return made(text, parts, low, high) if calm else Term(text, sure=False)

    # -- windows ------------------------------------------------------------------------------------------

    def window(self, node: Any) -> Term:
        """function(...) OVER (...)."""
        only(node, "this", "partition_by", "order", "spec", "over", "alias")
        function, spec = node.this, self._named_window(node)
        partition = [self.term(p) for p in spec.args.get("partition_by") or ()]
        order = spec.args.get("order")
        orderings = self.orderings(order.expressions) if order is not None else []
        inside = [f"PARTITION BY {', '.join(p.text for p in partition)}"] if partition else []
        among = f" OVER ({' '.join(inside)})"
        inside += [f"ORDER BY {', '.join(o.text for o in orderings)}"] if orderings else []
        frame = spec.args.get("spec")
        inside += [_frame(frame)] if frame is not None else []
        over = f" OVER ({' '.join(inside)})"
        still = self.steady and all(p.sure for p in partition)
        calm = still and all(o.term.sure for o in orderings)
        if type(function) in _RANKS:
            return self._rank(function, over, among, orderings, still, calm)
        if type(function) in _SHIFTS:
            return self._shift(function, over, calm)
        return self.aggregate(function, over, calm)

    def _named_window(self, node: Any) -> exp.Expr:
        alias = node.args.get("alias")
        if alias is None:
            own: exp.Expr = node
            return own
        found = self.windows.get(alias.name.casefold())
        if found is None:
            raise UnsupportedSQL(
                f"there is no window {alias.name[:60]!r}; define it with WINDOW {alias.name[:60]} AS (...)"
            )
        return found

    def _rank(
        self, node: Any, over: str, among: str, orderings: Sequence[Ordering], still: bool, calm: bool
    ) -> Term:
        """A rank: after all that are surely before it, and at most after all that may be."""
        only(node, "this", "expressions")
        parts = [self.term(node.this)] if node.this is not None else []
        text = f"{_RANKS[type(node)]}({', '.join(p.text for p in parts)}){over}"
        if calm:
            return Term(text)
        first = orderings[0] if orderings else None
        if (
            not still
            or first is None
            or first.term.bounds is None
            or type(node) not in (exp.RowNumber, exp.Rank, exp.DenseRank)
        ):
            return Term(text, sure=False)
        low, high = first.term.bounds
        if first.descending:
            before, beside = f"v > {high}", f"v >= {low}"
            nearest, farthest = f"list({low}){among}", f"list({high}){among}"
        else:
            before, beside = f"v < {low}", f"v <= {high}"
            nearest, farthest = f"list({high}){among}", f"list({low}){among}"
        least = f"(1 + len(list_filter({nearest}, lambda v: {before})))"
        if type(node) is exp.DenseRank:
            least = f"least({least}, 2)"
        return made(text, [first.term], least, f"len(list_filter({farthest}, lambda v: {beside}))")

    def _shift(self, node: Any, over: str, calm: bool) -> Term:
        only(node, "this", "offset", "default", "expressions")
        one, name = self.term(node.this), _SHIFTS[type(node)]
        more = [self.term(node.args[k]) for k in ("offset", "default") if node.args.get(k) is not None]
        if not all(m.sure for m in more):
            raise UnsupportedSQL(f"{name.upper()} takes constants after its first argument")
        rest = "".join(f", {m.text}" for m in more)
        texts = [f"{name}({t}{rest}){over}" for t in (one.text, *(one.bounds or ()))]
        found = self._settled(texts[0], [one], calm, *texts[1:])
        return smoothly(found, [one]) if calm else found


def _frame(spec: Any) -> str:
    """ROWS or RANGE BETWEEN ... AND ..., of whole numbers."""
    only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind")).upper()
    if kind not in ("ROWS", "RANGE"):
        raise UnsupportedSQL(f"a frame of {kind[:20]} is not supported; use ROWS")
    start = _side(spec.args.get("start"), spec.args.get("start_side"))
    end = spec.args.get("end")
    last = "CURRENT ROW" if end is None else _side(end, spec.args.get("end_side"))
    return f"{kind} BETWEEN {start} AND {last}"


def _side(what: Any, side: Any) -> str:
    if isinstance(what, str):
        word = what.upper()
        if word == "CURRENT ROW":
            return word
        if word == "UNBOUNDED" and side in _SIDES:
            return f"UNBOUNDED {side}"
    elif (
        type(what) is exp.Literal
        and not what.args.get("is_string")
        and what.this.isdecimal()
        and side in _SIDES
    ):
        return f"{int(what.this[:9])} {side}"
    raise UnsupportedSQL("a frame begins and ends at a whole number of rows, UNBOUNDED or CURRENT ROW")
