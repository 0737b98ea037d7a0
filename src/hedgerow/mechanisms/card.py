"""Card: all that is said about a mechanism, once, beside it.

Front door, catalogue, planner, audit, docs and help are made from cards. They are read where nothing heavy
may be loaded, so a card names what takes numbers with `later`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.mechanisms.cost import of_counting

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.task import Task

Kind = Literal["offline", "online", "classifier", "continual"]
Need = Callable[["Task"], str | None]
"""Why a mechanism is not for a task, as a sentence about `it`; None if it is."""


@dataclass(frozen=True)
class Stated:
    """A bound in rows, and the parameters that the mechanism must be given to state it."""

    error: float
    parameters: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[float], Stated]
"""A bound as a function of the rows."""


@dataclass(frozen=True)
class Theorem:
    """What is proved about a mechanism's error.

    Args:
        words: which theorem.
        rule: the bound for a task, as the mechanism itself would state it.
        hides: whether constants are hidden for a task: then nothing is promised.
        slow: whether the rule takes its time, so that it is asked for few numbers of rows.
    """

    words: str
    rule: Callable[[Task], Rule]
    hides: Callable[[Task], bool] = lambda task: False
    slow: bool = False


class Auditor(Protocol):
    """What the audit gives a card that registers audits of its mechanism."""

    @property
    def delta(self) -> float:
        """The delta of claims that have one."""

    @property
    def domain(self) -> Any:
        """The small domain that `tables` and most questions are over: `a` of three levels, `b` of two."""

    def pairs(self, kind: str = "tables", *, people: Sequence[int] = (1, 3), replace: bool = False) -> Any:
        """Neighbouring worlds: `tables`, `trios`, `levels`, `names` or `few`; all, or swaps alone.

        `people` are the rows that one of them may have.
        """

    def workload(self, name: str) -> Any:
        """Something small to ask: `ones` and `pairs` are tables; `one`, `two` and `mixed` are queries."""

    def one_act(
        self,
        workload: Any = None,
        *,
        act: Callable[[Curator, float], Any] | None = None,
        worlds: Any = None,
        delta: float = 0.0,
        share: float = 1.0,
        **parameters: Any,
    ) -> None:
        """The mechanism with these parameters makes one act - or another function of its own code does.

        With `named=True` every run has a name of its own.
        """

    def several_acts(
        self,
        workload: Any = None,
        *,
        act: Callable[[Curator, float], Any] | None = None,
        worlds: Any = None,
        delta: float = 0.0,
        share: float = 0.2,
        **parameters: Any,
    ) -> None:
        """It makes several acts, each of which may depend on those before."""

    def each_act(self, workload: Any, acts: int, *, worlds: Any, scale: float, **parameters: Any) -> None:
        """Its first acts one by one, each given its history, in runs of `scale` times the epsilon."""

    def conversation(self, questions: Sequence[Any], *, worlds: Any = None, **parameters: Any) -> None:
        """It is asked question after question."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """A mechanism: its names, what it needs, what it promises, how it is tried and how it is attacked.

    Args:
        name: its class, and its name at the front door.
        home: the module it lives in.
        kind: `offline` (releases once), `online` (answers question by question), `classifier`, or
            `continual` (over data that grow).
        words: what it does, in a few words.
        when: when to choose it.
        page: its page, below docs/; empty if it has none.
        command: its name on the command line; empty if it is not reached from there.
        whole: whether what it releases answers every question, not only those asked for.
        stated: whether the errors it states are about those it makes, for all that can be read off it; only
            such are recommended.
        open_ended: whether its rows are names without end instead of a declared schema.
        takes: what else the command line may tell it: `run`, `watch`, `objective`, `seconds`, `memory`,
            `prior`.
        needs, limits: why it is not for a task, and why a task is too large for it; the number of rows, which
            may be private, does not enter.
        plain: the law of its noise, if independent noise is all that it does.
        theorem: what is proved about its error; None: nothing.
        error: its root mean square error in rows, where that follows from public numbers.
        trial: what it is given when a plan tries it on made-up rows.
        skips: why it is not tried.
        cost: seconds and megabytes from public numbers.
        audits: registers its audits: every private act it can make must be among them.
    """

    name: str
    home: str
    kind: Kind
    words: str
    when: str
    page: str = ""
    command: str = ""
    whole: bool = False
    stated: bool = True
    open_ended: bool = False
    takes: frozenset[str] = frozenset()
    needs: tuple[Need, ...] = ()
    limits: tuple[Need, ...] = ()
    plain: str = ""
    theorem: Theorem | None = None
    error: Callable[[Task], float] | None = None
    trial: Callable[[Task], Mapping[str, Any]] = lambda task: {}
    skips: tuple[Need, ...] = ()
    cost: Callable[[Task], tuple[float, float]] = of_counting
    audits: Callable[[Auditor], None]

    def load(self) -> Any:
        """The class, imported from its home."""
        return getattr(import_module(self.home), self.name)

    def make(self, **parameters: Any) -> Any:
        """The mechanism with these parameters."""
        return self.load()(**parameters)

    def refusal(self, task: Task) -> str | None:
        """Why it is not for a task, as a sentence about `it`; None if it is."""
        return first((_right_rows(self.open_ended), *self.needs, *self.limits), task)

    def check(self, task: Task) -> None:
        """Refuse a task that it is not for, in one sentence."""
        if why := first((_right_rows(self.open_ended), *self.needs), task):
            raise UnsupportedQuery(f"{self.name} cannot be used here: {why}")
        if why := first(self.limits, task):
            raise RangeTooLarge(f"{self.name} cannot be used here: {why}")


def first(needs: Sequence[Need], task: Task) -> str | None:
    """The first reason against a task."""
    return next((why for need in needs if (why := need(task)) is not None), None)


def _right_rows(open_ended: bool) -> Need:
    def need(task: Task) -> str | None:
        if open_ended == task.open_ended:
            return None
        if open_ended:
            return "it is for names without end, an hr.OpenDomain in Python, and a schema is finite"
        return "it needs a declared finite domain; names without end go to SparseProject and SparseMW"

    return need


def later(path: str) -> Callable[..., Any]:
    """The function `module:name` below `hedgerow.mechanisms`, imported when it is first called."""
    module, _, name = path.partition(":")

    def call(*given: Any, **named: Any) -> Any:
        return getattr(import_module(f"hedgerow.mechanisms.{module}"), name)(*given, **named)

    return call
