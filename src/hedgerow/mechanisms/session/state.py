"""State: what everyone who asks one session knows, which is what the ledger's lines say.

* A **trip**: a comparison found that a learned answer may be off by more than its accuracy allows. The
  question is measured, the table behind it is measured and learned, and the side that tripped must be opened
  and paid again before the next comparison.
* **Saved**, of a guard: what the answers that it certified would have cost if they had been measured, less
  what trips have cost. Trips are paid from that.
* **Debt**, of a guard: what a trip cost beyond what was saved, or what opening the guard costs. As much is
  measured directly before it compares again.
* **Reserve**, of a payer: an account of its own with the worst that the next comparison can cost, so that a
  trip can be paid whatever else is spent meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hedgerow.mechanisms.session.cache import Cache
from hedgerow.mechanisms.session.guard import Guard
from hedgerow.mechanisms.session.log import Log, Reserve
from hedgerow.mechanisms.session.price import Goal
from hedgerow.mechanisms.session.snapshot import SealedFile
from hedgerow.privacy.budget import Cost

if TYPE_CHECKING:
    from hedgerow.mechanisms.session.belief import Belief
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement


class SessionState(ABC):
    """What is believed, said, compared, owed and set aside; see above for the words."""

    questions: int  # about how many different ones are expected
    belief: Belief
    log: Log
    reserve: Reserve
    cache: Cache
    guards: list[Guard]

    def begin(self, log: Log) -> None:
        """Know nothing yet but where the lines are."""
        self.log, self.reserve, self.cache = log, Reserve(log), Cache(log.answers)
        self.guards = []
        self.primed = True
        self._standings: dict[str, list[str]] = {}
        self._learned = -1  # the line up to which the belief has what was measured
        self._file = SealedFile(log.curator.ledger, log.name, "belief")
        self._saved: tuple[int, bool] | None = None

    @property
    def size(self) -> float:
        """The number of rows that accuracies are parts of: public, or as it was measured first."""
        return self.belief.numbers.size

    @property
    def most_rows(self) -> float:
        """A number that the rows do not exceed; infinite if there is none."""
        return self.belief.numbers.most_rows

    @abstractmethod
    def measure_table(self, line: dict[str, Any]) -> Measurement:
        """The measurement that a line of the log is about."""

    def follow(self, lines: list[tuple[int, dict[str, Any]]]) -> None:
        """Do as others did: guards, runs, tables, reserves and answers in the order in which they came."""
        for seq, line in lines:
            if line["do"] == "guard":
                self._follow_guard(line)
            elif line["do"] == "run":
                self.guards[line["guard"]].resume(line)
            elif line["do"] == "table" and seq > self._learned and line["request"] in self.log.paid:
                self.belief.learn(self.measure_table(line))
            elif line["do"] == "reserve":
                self.reserve.follow(line)
            elif line["do"] == "answers":
                self.cache.load(line["answers"])
                for number, debt in line["debts"].items():
                    guard = self.guards[int(number)]
                    guard.debt, guard.saved = Fraction(debt), Fraction(line.get("saved", {}).get(number, 0))
                self._standings = self._standing()
        self.reserve.refresh()

    def _follow_guard(self, line: dict[str, Any]) -> None:
        goal = Goal(Fraction(line["alpha"]), line["confidence"])
        price, debt, share = Cost.from_json(line["price"]), line["debt"], line.get("share", 1)
        self.guards.append(
            Guard(
                goal, price, self.questions, self.log, line["number"], Fraction(debt), share=Fraction(share)
            )
        )

    def write_answers(self, *, learned: bool = True) -> None:
        """Put what was said since the last time into the ledger, with what the guards owe.

        Args:
            learned: also when there are only learned answers, which nothing but this session can repeat.
        """
        standing = self._standing()
        said = self.cache.waiting if learned else self.cache.waiting - {"learned"}
        if said or standing != self._standings:
            durable, answers = "measured" in self.cache.waiting, self.cache.unwritten()
            debts, saved = ({n: pair[i] for n, pair in standing.items()} for i in (0, 1))
            line = {"do": "answers", "answers": answers, "debts": debts, "saved": saved}
            self.log.write(line, durable=durable)
            self.cache.written()
            self._standings = standing

    def _standing(self) -> dict[str, list[str]]:
        return {str(g.number): [str(g.debt), str(g.saved)] for g in self.guards}

    # -- for the next process -----------------------------------------------------------------------------

    def restore(self, domain: Domain) -> bool:
        """Believe what a snapshot has, if there is one to use."""
        held = self._file.load()
        if held is None:
            return False
        self._learned, self.belief = held.seq, held.belief(domain)
        self._saved = self.belief.stamp
        return True

    def save(self) -> None:
        """Keep what is believed and where answers are, as far as that has changed."""
        if self.primed and self._file.path is not None and self.belief.stamp != self._saved:
            arrays: dict[str, Any] = {}
            self._file.save(self.belief.pack(arrays), arrays)
            self._saved = self.belief.stamp
        self.log.save()
