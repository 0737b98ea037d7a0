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
        behind: BaseException | None = error
        while behind is not None:
            clear_frames(behind.__traceback__)
            behind = behind.__cause__ or behind.__context__
        raise
