"""Exporting: an answer as a file or a text that other programs read, and as a picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError
from hedgerow.release.writing import refuse_existing, whole
from hedgerow.service import wire
from hedgerow.synopsis.drawing import plotted
from hedgerow.synopsis.frame import Frame

if TYPE_CHECKING:
    from hedgerow.synopsis.answer import Answer

    Answered = Answer | Frame

FORMATS = ("table", "csv", "json", "markdown", "parquet")
_ENDINGS = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet", ".txt": "table"}


def format_for(path: Path) -> str:
    """The format that a file's ending names.

    Args:
        path: the file.
    """
    found = _ENDINGS.get(path.suffix.lower())
    if found is None:
        raise HedgerowError(
            f"the ending of {str(path)!r} names no format: say --format, which is {', '.join(FORMATS)}"
        )
    return found


def rendered(answer: Answered, form: str) -> bytes:
    """An answer in a format; all but `table` and `markdown` hold bounds and sources as columns.

    Args:
        answer: what was answered.
        form: one of `FORMATS`.
    """
    frame = answer if isinstance(answer, Frame) else Frame.of(answer)
    if form == "parquet":
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(frame.to_arrow(), buffer)
        return buffer.getvalue()
    if form == "json":
        names, columns = list(frame.data()), list(frame.data().values())
        return (
            wire.text({"rows": [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]})
            + "\n"
        ).encode()
    if form == "table":
        text = frame.text() + "\n"
    elif form in ("csv", "markdown"):
        text = frame.csv() if form == "csv" else frame.markdown()
    else:
        raise HedgerowError(f"a format is one of {', '.join(FORMATS)}, not {form!r}")
    return text.encode("utf-8", "surrogateescape")


def write(answer: Answered, path: Path, form: str | None = None, *, force: bool = False) -> str:
    """Write an answer to a file, whole or not at all; says in which format.

    Args:
        answer: what was answered.
        path: the file.
        form: one of `FORMATS`; as the file's ending says if None.
        force: replace a file that is there.
    """
    form = form or format_for(path)
    refuse_existing(path, force=force)
    content = rendered(answer, form)
    with whole(path) as draft:
        draft.write_bytes(content)
    return form


def draw(answer: Answered, path: Path, title: str | None = None, *, force: bool = False) -> None:
    """Draw an answer into a file: .svg, .png, .html or .json.

    Args:
        answer: what was answered.
        path: the file.
        title: what to write above the picture.
        force: replace a file that is there.
    """
    plot = plotted(answer, title) if isinstance(answer, Frame) else answer.plot(title)
    made = plot.drawer(path)
    refuse_existing(path, force=force, option="--plot")
    content = made()
    with whole(path) as draft:
        draft.write_bytes(content)
