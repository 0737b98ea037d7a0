"""What an error may carry out of this room: its words, never the values that were at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import clear_frames


@contextmanager
def forgetting(*held: list[object]) -> Iterator[None]:
    """Empty the lists that hold exact values, and the finished frames behind an error, before it goes on.

    A traceback keeps the locals of every frame it came through, and exact tables are locals there.
    """
    try:
        yield
    except BaseException as error:
        for values in held:
            values.clear()
        waiting, met = [error], set[int]()
        while waiting:
            behind = waiting.pop()
            if id(behind) not in met:
                met.add(id(behind))
                clear_frames(behind.__traceback__)
                among = behind.exceptions if isinstance(behind, BaseExceptionGroup) else ()
                waiting += [e for e in (behind.__cause__, behind.__context__, *among) if e is not None]
        raise
