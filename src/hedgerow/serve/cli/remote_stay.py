"""A dataset at a server, kept open while one person asks it many questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.serve.cli import remote
from hedgerow.service import frames
from hedgerow.service.describing import ColumnTold, Description, some_of
from hedgerow.service.stay import Stay, Told

if TYPE_CHECKING:
    from hedgerow.service.asking import Ask
    from hedgerow.service.dataset import Step


class RemoteStay(Stay):
    """A dataset at a server; the token comes from the environment.

    Args:
        url: http://HOST/DATASET.
    """

    def __init__(self, url: str) -> None:
        self._there = remote.at(url)
        self._schema = self._there.schema()["attributes"]

    @property
    def description(self) -> Description:
        """The declared columns."""
        said = f"{self._there.dataset}: private rows at a server, of which this says only what is declared."
        return Description("dataset", (said,), tuple(map(_column, self._schema)))

    @property
    def learned(self) -> bool:
        """The server learns when its owner says so, never because of a question."""
        return True

    def ask(self, ask: Ask, step: Step) -> Told:
        """The answer, free unless the question may spend."""
        answer = self._there.ask(ask.sql, ask.params, spend=ask.spend, **_wish(ask))
        plain = answer.to_json()
        said = [remote.meaning(answer), *(f"Note: {note}" for note in answer.notes), remote.price(answer)]
        return Told(plain, tuple(said), frames.frame(plain), answer.cost is not None)

    def explain(self, ask: Ask) -> Told:
        """What asking would do and cost."""
        told = self._there.explain(ask.sql, ask.params, spend=ask.spend, **_wish(ask))
        cost = told["cost"]
        said = [told["words"]] if cost is None else [f"It may cost up to epsilon {cost['epsilon']:.4g}."]
        return Told(told, tuple(said), costs=cost is not None)

    def budget(self) -> Told:
        """The budget, and what of it is left to whoever asks."""
        told = self._there.budget()
        yours = told["yours"] or {}
        left = yours.get("remaining") or told["remaining"]
        return Told(told, (f"Left to spend: epsilon {left['epsilon']:.4g}.",))

    def close(self) -> None:
        """Close the connection."""
        self._there.close()


def _wish(ask: Ask) -> dict[str, Any]:
    return ask.wish | {"max_epsilon": ask.max_epsilon, "request": ask.request}


def _column(told: dict[str, Any]) -> ColumnTold:
    kind = {"date": "dates"}.get(told["kind"], told["kind"])
    levels = tuple(map(str, told["levels"]))
    return ColumnTold(told["name"], kind, levels, some_of(list(levels), len(levels), kind))
