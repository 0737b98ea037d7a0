"""The ledger audit of caps: which promise each cap keeps, by formulas written out a second time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import exp, inf, log, log1p
from typing import Any

OWNER = "owner"
_ROOM = 1 + 1e-9  # for floats
_STEPS = range(-300, 500)


class Caps:
    """The accounts' caps, line by line, and the (epsilon, delta) that the owner's promises."""

    def __init__(self, currency: str, grain: int) -> None:
        self.currency, self.grain = currency, grain
        self.limits: dict[str, Mapping[str, str]] = {}
        self.first: dict[str, Fraction] = {}
        self.promise = (inf, 0.0)
        self._last: Mapping[str, Any] = {}

    def step(self, line: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with a line's cap."""
        account, limit, spent = line["account"], line["limit"], line["spent"]
        if any(int(spent[name]) > int(limit[name]) for name in limit):
            yield f"Line {line['seq']} spends more than its account has."
        if line["kind"] == "open" and line["parent"] is None:
            yield from self._stated(line, line["details"]["budget"], seen=False)
        elif line["kind"] == "raise":
            yield from self._stated(line, line["details"], seen=any(int(x) for x in spent.values()))
        elif line["kind"] in ("grow", "shrink"):
            yield from self._moved(line)
        elif line["kind"] != "open" and limit != self.limits.get(account):
            yield f"Line {line['seq']} moves a cap that nobody raised."
        self.limits[account], self._last = limit, line

    def _moved(self, line: Mapping[str, Any]) -> Iterator[str]:
        """An account under a limit has what its parent gave it in the line before, or less."""
        grows, last = line["kind"] == "grow", self._last
        given = (last["kind"], last["account"], last["details"].get("child"), last["cost"])
        if grows and given != ("allot", line["parent"], line["account"], line["cost"]):
            yield f"Line {line['seq']} has money that nobody gave."
        before, sign = self.limits.get(line["account"], {}), 1 if grows else -1
        for name, limit in line["limit"].items():
            if int(limit) != int(before.get(name, 0)) + sign * int(line["cost"][name]):
                yield f"Line {line['seq']} moves a cap by more than was given."

    def _stated(self, line: Mapping[str, Any], said: Mapping[str, Any], seen: bool) -> Iterator[str]:
        """Whether a cap keeps the promise that comes with it; if none does, what the cap does keep."""
        parts = {k: Fraction(v) for k, v in said.items() if isinstance(v, str)}
        delta = sum((v for k, v in parts.items() if k.endswith("_delta")), Fraction(0))
        cap = Fraction(int(line["limit"][self.currency]), self.grain)
        events = Fraction(int(line["limit"].get("delta", 0)), self.grain)
        if not seen or self.currency == "epsilon" or not delta:
            self.first = parts | {"cap": cap, "delta": delta}
            found = self._fixed(cap, parts["conversion_delta"])
            tenth = parts["event_delta"]
        else:
            delta = (
                delta
                if "index" in said
                else max(delta, min(2 * self.first["delta"], (1 + self.first["delta"]) / 2))
            )
            fresh = delta * 9 / 10 - self.first["conversion_delta"]
            found, tenth = self._chosen(cap, fresh, said.get("index")), delta / 10
        stated = self._epsilon(parts, cap) if "index" in said or not seen else found
        if found > stated * _ROOM or events > tenth or cap > parts.get("rho", cap):
            yield f"Line {line['seq']} promises more than its cap keeps."
        self.promise = max(found, stated), float(delta)

    def _epsilon(self, parts: Mapping[str, Fraction], cap: Fraction) -> float:
        """The epsilon that a line states."""
        return float(parts["epsilon"]) if "epsilon" in parts else self._fixed(cap, parts["conversion_delta"])

    def _fixed(self, cap: Fraction, delta: Fraction) -> float:
        """The epsilon of a cap that was fixed in advance: the best order's."""
        if self.currency == "epsilon":
            return float(cap)
        return least(lambda log_a: converted(float(cap), delta, exp(log_a))) if delta else inf

    def _chosen(self, cap: Fraction, fresh: Fraction, index: Any) -> float:
        """The epsilon of a cap that was chosen after answers: at orders which the first budget fixed."""
        if fresh <= 0 or not self.first["conversion_delta"]:
            return inf
        first = {
            n: converted(float(self.first["cap"]), self.first["conversion_delta"], order(n)) for n in _STEPS
        }
        top = min(first, key=first.__getitem__)
        indices = range(1, 251) if index is None else [index] if 0 < index <= 250 else []
        shares = ((k, fresh / (k * (k + 1))) for k in indices)
        return min((converted(float(cap), share, order(top + 1 - k)) for k, share in shares), default=inf)


def order(n: int) -> float:
    """The n-th of ... 1/2, 3/4, 1, 3/2, 2, 3, ..."""
    half, odd = divmod(n, 2)
    return (2.0 + odd) / 2 * 2.0**half


def converted(rho: float, delta: Fraction, a: float) -> float:
    """The epsilon of rho-zCDP at order 1 + a and delta (Canonne, Kamath and Steinke 2020, Cor. 13)."""
    log_inverse = log(delta.denominator) - log(delta.numerator)
    return (1 + a) * rho + (log_inverse - log1p(a)) / a - log1p(1 / a)


def least(f: Callable[[float], float]) -> float:
    """The least value of a function with one hollow, on finer and finer grids."""
    middle = 0.0
    for width in (60.0, 0.2, 0.001):
        middle = min((middle + width * i / 500 for i in range(-500, 501)), key=f)
    return f(middle)
