"""Progress: how far long work is, as a bar that moves, or as one line where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import Any

from hedgerow.serve.cli.terminal import say

LATE = 10.0  # seconds after which work without a terminal says that it goes on


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, float | None], None]]:
    """Progress on stderr, told what is being done and which part of it is done.

    On a terminal it is a bar; the time left is measured, not promised, and appears once part of the work is
    done. Elsewhere it is one line, and only if the work takes a while; with --json it is nothing.
    """
    if quiet:
        yield lambda words, part: None
    elif sys.stderr.isatty():
        with _bar() as step:
            yield step
    else:
        with _line() as step:
            yield step


@contextmanager
def _line() -> Iterator[Callable[[str, float | None], None]]:
    """One line after a few seconds: what is being done, and about how long that will take."""
    began = monotonic()
    doing: list[tuple[str, float | None, float]] = []

    def step(words: str, part: float | None) -> None:
        if not doing or doing[-1][0].partition(":")[0] != words.partition(":")[0]:
            doing.append((words, part, monotonic()))
        else:
            doing[-1] = (words, part, doing[-1][2])

    def tell() -> None:
        if doing:
            say(still(*doing[-1], began))

    timer = Timer(LATE, tell)
    timer.daemon = True
    timer.start()
    try:
        yield step
    finally:
        timer.cancel()


def still(words: str, part: float | None, since: float, began: float) -> str:
    """What is being done after so long, and about how long the same work will go on.

    >>> now = monotonic()
    >>> still("Learning: tables about 2% off", 0.25, now - 4, now - 5)
    'Learning, 25% done after 5 s, about 12 s to go'
    """
    now = monotonic()
    said = f"{words.partition(':')[0]}, "
    if part is None or not 0 < part < 1:
        return f"{said}still at it after {now - began:.0f} s"
    rest = (now - since) * (1 - part) / part
    return f"{said}{part:.0%} done after {now - began:.0f} s, about {rest:.0f} s to go"


@contextmanager
def _bar() -> Iterator[Callable[[str, float | None], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {}

    def step(words: str, part: float | None) -> None:
        key = words.partition(":")[0]  # what follows a colon is news about the same work
        if key not in tasks:
            for task in tasks.values():
                bar.update(task, total=1.0, completed=1.0)
            tasks[key] = bar.add_task(words, total=None)
        bar.update(tasks[key], description=words)
        if part is not None:
            bar.update(tasks[key], total=1.0, completed=part)

    with bar:
        yield step
