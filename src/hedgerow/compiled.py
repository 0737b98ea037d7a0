"""Compiled loops: numba is loaded when the first of them runs, and not before.

Loading numba takes longer than most answers from what was learned, which need no loop at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

_TELLS: list[Callable[[], None]] = []


def before_compiling(tell: Callable[[], None]) -> None:
    """Have somebody told, once, when a loop is about to be compiled because none was kept."""
    _TELLS.append(tell)


def about_to_compile() -> None:
    """Tell those who wanted to know; each of them once."""
    while _TELLS:
        _TELLS.pop()()


def njit(**options: Any) -> Any:
    """`numba.njit` with these options, applied when the function is first called.

    >>> @njit(cache=False)
    ... def add(a, b):
    ...     return a + b
    >>> add(1, 2)
    3
    """
    return lambda function: Loop(function, options)


class Loop:
    """A function that is compiled when it is first called.

    Args:
        function: what is compiled.
        options: of `numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)

    @cached_property
    def compiled(self) -> Any:
        """The compiled function; the other loops of its file are replaced too, as loops call one another."""
        names = self._function.__globals__
        for name, loop in [(name, it) for name, it in names.items() if isinstance(it, Loop)]:
            names[name] = loop._made
        return self._made

    @cached_property
    def _made(self) -> Any:
        import numba

        made = numba.njit(**self._options)(self._function)
        if self._options.get("cache"):
            from hedgerow.compiled_cache import keep_apart

            return keep_apart(made)
        return made
