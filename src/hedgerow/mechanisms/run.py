"""SelectMeasure: what runs share that choose what they have most wrong, measure it, learn it, and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hedgerow.mechanisms.progress import Progress, Surprise
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.statistics.statistics import Score
    from hedgerow.mechanisms.account import Purse
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.workload import Workload

CHOOSE = "choose"
SELECTION = {"rho": Fraction(1, 10), "epsilon": Fraction(3, 10)}  # of each step's price


class SelectMeasure:
    """The state of a run. `left` is what of its price is not spent.

    It follows from released and public values, and so does what is asked next, how often, and when to stop:
    a run taken up after a crash makes the same requests and is given the same answers. Every act is charged
    in `Curator.measure_all` or `Curator.select`, from the purse's account.
    """

    words: ClassVar[str]  # what the ledger's notes begin with

    def __init__(
        self, purse: Purse, domain: Domain, workload: Workload, watch: Callable[[Progress], None]
    ) -> None:
        self.curator, self.domain, self.workload, self.watch = purse.curator, domain, workload, watch
        self.price = self.left = purse.price
        self.pure = purse.price.currency == "epsilon"
        self.rows = None if purse.curator.rows is None else float(purse.curator.rows)  # where public
        self.measurements: list[Measurement] = []
        self._purse, self._acts, self._clock = purse, 0, time.process_time()
        self._surprise: list[Surprise] = []

    # -- private acts -------------------------------------------------------------------------------------

    def measure(
        self, targets: Sequence[Any], price: Cost, shares: Sequence[int] | None, note: str
    ) -> list[Measurement]:
        """Measure several things in one act."""
        found = self.curator.measure_all(targets, price, shares=shares, **self._known(note))
        self.left -= self._paid(price, found)
        self.measurements += found
        return found

    def select(self, score: Score, price: Cost) -> int:
        """Choose one of the candidates, as exactly as the currency allows."""
        method: Literal["permute_and_flip", "exponential"]
        method = "permute_and_flip" if self.pure else "exponential"
        chosen = self.curator.select(score, price, method=method, **self._known(CHOOSE))
        self.left -= self._paid(price)
        return chosen

    def refused(self) -> None:
        """The last act was refused before a row was read: the next one has its number."""
        self._acts -= 1

    @property
    def acts(self) -> int:
        """How many acts there were."""
        return self._acts

    @property
    def begun(self) -> bool:
        """Whether the ledger holds an act under the name of the next one: a run that is taken up."""
        return self.coming is not None

    @property
    def coming(self) -> str | None:
        """What the ledger says of the next act, if a run that is taken up has made it already."""
        request = self._purse.request(self._acts + 1)
        entry = None if request is None else self.curator.ledger.requested(request)
        return None if entry is None else entry.note.rpartition(f"{self.words}: ")[2]

    def _known(self, note: str) -> dict[str, Any]:
        """What the next act is known by in the ledger."""
        self._acts += 1
        request = self._purse.request(self._acts)
        return {"request": request, "note": f"{self.words}: {note}", "run": self._purse.run}

    def _paid(self, price: Cost, found: Sequence[Measurement] = ()) -> Cost:
        """What an act took: all that it was given, which is never less than what was charged."""
        return price

    # -- prices -------------------------------------------------------------------------------------------

    def step_price(self, steps: int) -> tuple[Cost, Cost]:
        """An equal part of what is left for each step to come: for choosing, and for measuring."""
        step = self.left.share(Fraction(1, max(steps, 1)))
        choice = step.share(SELECTION[step.currency])
        return choice, step - choice

    def noise(self, price: Cost) -> tuple[float, float]:
        """Mean absolute value and standard deviation of the noise that a price buys for a table's cell."""
        sensitivity = self.curator.privacy.sensitivity(Norms.table())
        if self.pure:
            scale = float(sensitivity.l1) / max(float(price.amount), 1e-300)
            return scale, scale * 2.0**0.5
        sigma = (float(sensitivity.l2_squared) / max(2.0 * float(price.amount), 1e-300)) ** 0.5
        return sigma * (2.0 / np.pi) ** 0.5, sigma

    # -- what follows from released values ----------------------------------------------------------------

    def tell(self, step: int, steps: int, total: float, cells: int) -> None:
        """Tell whoever watches how far the run is."""
        late = self._surprise[-4:]  # their mean L1 error before they were learned, as a part of all rows
        error = max(0.0, float(np.mean([s.distance for s in late])) / total) if late else None
        self.watch(Progress(step, steps, error, cells, time.process_time() - self._clock))

    def surprised(self, counts: NDArray[Any], expected: NDArray[np.float64], sigma: float) -> None:
        """Keep how far a measured table was from what was expected of it."""
        expected = expected.reshape(-1)
        self._surprise.append(Surprise.of(counts.reshape(-1) - expected, expected, sigma))

    def quiet(self, tables: int, errors: float = 1.0) -> bool:
        """Whether so many of the last tables were within so many standard errors of pure noise."""
        late = self._surprise[-tables:]
        over, room = sum(s.excess for s in late), sum(2.0 * s.doubt**2 for s in late) ** 0.5
        return len(late) >= tables and over <= errors * room

    @property
    def spread(self) -> float:
        """The variance of a cell's error in units of its count, from tables predicted before measured."""
        late = self._surprise[len(self._surprise) // 2 :]
        over, under = sum(s.excess for s in late), sum(s.rows for s in late)
        floor = sum(s.doubt for s in late) / max(under, 1.0)
        return max(over / under if under else 0.0, floor, 1e-6)
