"""What lies beside a synopsis in a release's folder: its schema, its tables, and a page about it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.privacy.ledger.receipt import resting
from hedgerow.queries.domain.domain import Domain
from hedgerow.release.numerals import amount
from hedgerow.release.report.pairs import two_way
from hedgerow.release.report.views import one_way

if TYPE_CHECKING:
    from hedgerow.synopsis import Synopsis

SCHEMA, TABLES, README = "schema.yaml", "tables.csv", "README.md"
_MARK = "Written by `hedgerow release`"
_CONFIDENCE = 0.95

_FILES = {
    "synopsis.hedgerow": 'the release itself: `hedgerow query synopsis.hedgerow "SELECT COUNT(*) FROM t"`, '
    "or `hr.Synopsis.load` in Python. Asking it costs nothing, however often",
    "synthetic.csv": "made-up rows that resemble the private ones as far as the release knows them; for "
    "trying things out, while numbers are better taken from the synopsis",
    "synthetic.parquet": "the same made-up rows with their types, for pandas, polars, DuckDB, R and Spark",
    TABLES: "the table of every column, and of the pairs that hang together most, as far as there is room: a "
    "line for each cell, with its bounds. Choose a table by the first column",
    SCHEMA: "the columns, levels and bins: what may be asked about. Anyone may know them, says the owner",
    "report.html": "the same as pictures; open it in a browser, it needs no network",
    "datapackage.json": "what each file and column is, for data portals (a Frictionless data package)",
    "receipt.json": "what the ledger said then: with it `hedgerow budget verify` shows that no line was lost",
}


def is_ours(path: Path) -> bool:
    """Whether a file may be written: there is none, or a release wrote it; other people's are left alone."""
    try:
        with path.open(encoding="utf-8") as file:
            return _MARK in file.readline()
    except FileNotFoundError:
        return True
    except (OSError, UnicodeError):
        return False


def write_schema(synopsis: Synopsis, path: Path) -> None:
    """The declared columns, as a schema file that a later release could use."""
    synopsis.domain.save(path)
    path.write_text(f"# {_MARK}: what was declared when it was made.\n{path.read_text('utf-8')}", "utf-8")


def write_tables(synopsis: Synopsis, path: Path) -> bool:
    """Tables of one and two columns, a line for each cell; says whether there are any."""
    found = [*one_way(synopsis, _CONFIDENCE), *two_way(synopsis, _CONFIDENCE)]
    if not found:
        return False
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["table", "column_1", "level_1", "column_2", "level_2", "count", "low", "high"])
        for view in found:
            names = view.attributes
            labels = [synopsis.domain[name].labels for name in names]
            errors = view.errors.reshape(view.values.shape)
            for place, value in _cells(view.values):
                level = [label[i] for label, i in zip(labels, place, strict=True)]
                pairs = [x for pair in zip(names, level, strict=True) for x in pair]
                error = float(errors[place])
                ends = [f"{value - error:.1f}", f"{value + error:.1f}"] if error < float("inf") else ["", ""]
                out.writerow([" x ".join(names), *pairs, *[""] * (4 - len(pairs)), f"{value:.1f}", *ends])
    return True


def _cells(values: object) -> list[tuple[tuple[int, ...], float]]:
    import numpy as np

    array = np.asarray(values)
    return [(place, float(array[place])) for place in np.ndindex(array.shape)]


def write_readme(synopsis: Synopsis, data: str, files: list[str], path: Path) -> None:
    """A page in plain words: what this folder is, what may be done with it, and what it promises."""
    settings, budget = synopsis.receipt.settings, synopsis.receipt.settings.budget
    whom = (
        f"any one {settings.unit} (with up to {settings.max_rows} rows)" if settings.unit else "any one row"
    )
    cost = amount(synopsis.cost, budget)
    learned = (
        "Numbers come from a model that was learned from noisy tables: their bounds are indicative."
        if synopsis.source == "learned"
        else "Numbers carry noise of known size: their bounds hold as often as they say."
    )
    promise = (
        f"What is in here was released with differential privacy, at a cost of {cost}: whether {whom} was in "
        "the data or not hardly changes it, whatever anybody does with these files, and whatever they know."
        if synopsis.private
        else "NOT PRIVATE: this was made with test randomness or a simulated ledger, and protects nobody."
    )
    if synopsis.claims:
        promise += f" {resting(synopsis.claims)}"
    listed = "".join(f"- `{name}`: {_FILES[name]}.\n" for name in files if name in _FILES)
    path.write_text(
        f"<!-- {_MARK}: it may be written over by the next one. -->\n"
        f"# A release of {data}\n\n{promise}\n\n"
        f"It was made by {synopsis.provenance.mechanism}. {learned} Counts may be negative, or no whole "
        "numbers: that is the noise, and rounding them makes sums worse.\n\n"
        f"{listed}\n"
        "Every answer says how far off it may be. A few dozen with a bound of a few hundred says only that "
        "there are not many.\n",
        "utf-8",
    )


def has_schema(synopsis: Synopsis) -> bool:
    """Whether there are declared columns; a release of names that nobody declared has none."""
    return isinstance(synopsis.domain, Domain)
