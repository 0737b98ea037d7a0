"""Approvals: questions that analysts may not pay for, which wait for the owner to decide.

The owner sees the question, the reason, its price and the budget: nothing that was computed from rows. What
is approved is asked and paid by the owner; whoever put it gets the answer, and so does everyone who asks
the same.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue, BudgetExceeded, NotFound
from hedgerow.privacy.budget import Budget
from hedgerow.service import wire
from hedgerow.service.asking import Ask
from hedgerow.service.tokens import stamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.service.asking import Answered
    from hedgerow.service.state import ServerState
    from hedgerow.service.tokens import Token

_DECISIONS = {"approve": "approved", "approved": "approved", "refuse": "refused", "refused": "refused"}
_MOST = 1000  # that wait, of one analyst


class Approvals:
    """The owner's queue.

    Args:
        state: where it is kept.
    """

    def __init__(self, state: ServerState) -> None:
        self._state = state

    @staticmethod
    def read(data: Any) -> tuple[Ask, str]:
        """The question and the reason, as somebody sends them."""
        if (
            not isinstance(data, dict)
            or not isinstance(data.get("reason"), str)
            or not data["reason"].strip()
        ):
            raise BadValue("a question for approval has a `reason`, a text")
        return Ask.of({k: v for k, v in data.items() if k != "reason"} | {"spend": True}), data["reason"]

    def put(self, dataset: str, who: Token, ask: Ask, reason: str, cost: Any) -> dict[str, Any]:
        """Let a question wait for the owner.

        Args:
            dataset: its name.
            who: who asks.
            ask: the question.
            reason: why.
            cost: the most it may cost, as doors show it.
        """
        if sum(item["state"] == "waiting" for item in self._state.approvals(None, who.name)) >= _MOST:
            raise BadValue("too many questions wait for approval already", hint="wait for the owner")
        question = {"sql": ask.sql, "params": list(ask.params), **ask.wish, "max_epsilon": ask.max_epsilon}
        item = {
            "id": secrets.token_hex(8), "dataset": dataset, "who": who.name, "time": stamp(datetime.now(UTC)),
            "question": question, "reason": reason, "cost": cost, "state": "waiting", "decision": None,
            "answer": None,
        }  # fmt: skip
        self._keep(item)
        return item

    def of(self, dataset: str, who: Token) -> list[dict[str, Any]]:
        """What an analyst put, or all of it for an owner."""
        return self._state.approvals(dataset, None if who.owns else who.name)

    def get(self, id: str) -> dict[str, Any]:
        """One that waits or was decided."""
        for item in self._state.approvals():
            if item["id"] == id:
                return item
        raise NotFound("there is no question of that id")

    @staticmethod
    def decision(data: Any) -> tuple[str, str]:
        """What the owner decided, and why."""
        word, reason = (data.get(k) if isinstance(data, dict) else None for k in ("decision", "reason"))
        if not isinstance(word, str) or word not in _DECISIONS:
            raise BadValue("a decision is `approved` or `refused`")
        if not isinstance(reason, str) or not reason.strip():
            raise BadValue("a decision has a `reason`, a text")
        return _DECISIONS[word], reason

    @staticmethod
    def ask(item: dict[str, Any]) -> Ask:
        """The question, as the owner asks it once it is approved: at the price that the owner saw."""
        question, seen = item["question"], item["cost"]["epsilon"]
        most = min((m for m in (question["max_epsilon"], seen) if m is not None), default=None)
        return Ask.of(question | {"spend": True, "max_epsilon": most, "request": f"approval {item['id']}"})

    def decide(
        self, id: str, state: str, reason: str, carry_out: Callable[[Ask], Answered]
    ) -> dict[str, Any]:
        """Decide a question that still waits; in its dataset's lane, where one decision follows the other.

        Args:
            id: the question's.
            state: approved or refused.
            reason: why.
            carry_out: asks what is approved. If that costs more by now than the owner saw, the question waits
                on with its new price.
        """
        item, answer = self.get(id), None
        if item["state"] != "waiting":
            raise BadValue(f"this question was {item['state']} already")
        if state == "approved":
            try:
                answer = wire.plain(wire.answered(carry_out(self.ask(item))))
            except BudgetExceeded as error:
                if isinstance(error.needed, Budget):
                    self._keep(item | {"cost": wire.price(error.needed)})
                raise
        item = item | {"state": state, "decision": reason, "answer": answer}
        self._keep(item)
        return item

    def _keep(self, item: dict[str, Any]) -> None:
        self._state.keep_approval(item["id"], item["dataset"], item["who"], item["state"], item)
