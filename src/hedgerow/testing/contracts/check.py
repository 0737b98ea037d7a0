"""Check: one named promise of a contract, and what is said when it is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import HedgerowError


class BrokenContract(AssertionError):
    """A promise that was not kept: one sentence that names the contract, the check and what was found."""


@dataclass(frozen=True)
class Check:
    """One promise, ready to be tried.

    Args:
        suite: whose contract it belongs to.
        name: the promise.
        run: tries it, and raises if it is broken.
    """

    suite: str
    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Try it; a BrokenContract if it is not kept."""
        try:
            self.run()
        except BrokenContract as broken:
            raise BrokenContract(f"{self}: {broken}") from broken.__cause__
        except Exception as error:
            raise BrokenContract(f"{self}: {type(error).__name__}: {error}") from error

    def __str__(self) -> str:
        return f"the contract of {self.suite}, {self.name!r}"


class Suite:
    """The promises of one contract, in order; each is a function of what is given to the suite.

    >>> numbers = Suite("numbers")
    >>> @numbers.promises("it is positive")
    ... def _positive(number):
    ...     require(number > 0, f"{number} is not")
    >>> [check.name for check in numbers.checks(3)]
    ['it is positive']
    >>> numbers.check(-3)
    Traceback (most recent call last):
    hedgerow.testing.contracts.check.BrokenContract: the contract of numbers, 'it is positive': -3 is not
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._promises: dict[str, Callable[..., None]] = {}

    def promises(self, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Enter a function as the check of a promise."""

        def enter(check: Callable[..., None]) -> Callable[..., None]:
            self._promises[name] = check
            return check

        return enter

    def checks(self, *given: Any) -> list[Check]:
        """All checks of something."""

        def bound(check: Callable[..., None]) -> Callable[[], None]:
            return lambda: check(*given)

        return [Check(self.name, name, bound(check)) for name, check in self._promises.items()]

    def check(self, *given: Any) -> None:
        """Try all of them; the first that is broken is raised."""
        for check in self.checks(*given):
            check()


def require(holds: Any, words: str) -> None:
    """Break the contract unless something holds."""
    if not holds:
        raise BrokenContract(words)


@contextmanager
def refused(what: str, kind: type[BaseException] = HedgerowError, *, without: str = "") -> Iterator[None]:
    """Require that something is refused: in one line, with an error of a kind that quotes no value."""
    try:
        yield
    except kind as error:
        require("\n" not in str(error).strip(), f"{what} is refused in more than one line")
        require(not without or without not in str(error), f"refusing {what}, an error quotes a value")
        return
    except Exception as error:
        raise BrokenContract(f"{what} ends in {type(error).__name__}, not in {kind.__name__}") from error
    raise BrokenContract(f"{what} is not refused")
