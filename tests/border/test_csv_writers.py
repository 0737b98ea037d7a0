"""Whatever bytes a person's cells hold and whoever writes the file, the others' rows are read as before."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr

PIECES = [
    '"', '""', '"""', "\\", '\\"', "\\\\", "\r", ",", ";", "\t", "\0", "\v", "\f", "\x1c", "\x85", "\u2028",
    "\ufeff", "#", "'", " ", ' "', '" ', '","', ',"', '",', "\\,", "\x1a", "F", "M", "30", "b1", "b1,F,30,x",
    "\rb1,F,30,x\r", '"b1","F","30","x"', "é", "x",
]  # fmt: skip
ENDS = ["\n", "\r\n", "\n\n", '"\n', '\n"', '"\r\n', "\\\n", "\nb1,F,30,x", "\r\nb1,F,30,x\r\n"]


def _csv(**dialect):
    def write(rows):
        out = io.StringIO(newline="")
        csv.writer(out, **dialect).writerows(rows)
        return out.getvalue()

    return write


def _pandas(**options):
    def write(rows):
        return pd.DataFrame(rows).to_csv(index=False, header=False, **options)

    return write


def _joined(end, form="{}"):
    return lambda rows: "".join(",".join(form.format(c) for c in row) + end for row in rows)


WRITERS = {
    "csv": _csv(lineterminator="\n"),
    "csv CRLF": _csv(),
    "csv CR": _csv(lineterminator="\r"),
    "csv all": _csv(lineterminator="\n", quoting=csv.QUOTE_ALL),
    "csv all, escaped": _csv(lineterminator="\n", quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\"),
    "csv escaped": _csv(lineterminator="\n", doublequote=False, escapechar="\\"),
    "csv none": _csv(lineterminator="\n", quoting=csv.QUOTE_NONE, escapechar="\\"),
    "csv none CRLF": _csv(quoting=csv.QUOTE_NONE, escapechar="\\"),
    "pandas": _pandas(),
    "pandas CRLF": _pandas(lineterminator="\r\n"),
    "pandas all": _pandas(quoting=csv.QUOTE_ALL),
    "pandas escaped": _pandas(doublequote=False, escapechar="\\"),
    "spaced": lambda rows: _csv(lineterminator="\n", quoting=csv.QUOTE_ALL)(rows).replace('","', '", "'),
    "joined": _joined("\n"),
    "joined CRLF": _joined("\r\n"),
    "quoted, not doubled": _joined("\n", '"{}"'),
}  # fmt: skip


STANDARD = {"csv", "csv CRLF", "csv CR", "csv all", "pandas", "pandas CRLF", "pandas all"}


def _cell(rng: np.random.Generator, writer: str) -> str:
    pieces = PIECES + ENDS if rng.random() < 0.2 else PIECES
    text = "".join(rng.choice(pieces) for _ in range(rng.integers(1, 6)))
    if writer.startswith(("joined", "quoted")):  # here a line end is a line end, and nobody can tell
        text = text.replace("\r\n" if writer == "joined CRLF" else "\n", "")
    if writer == "joined CRLF" and rng.random() < 0.9:  # and here half of one is refused
        text = text.replace("\r", "").replace("\n", "")
    return text


def _person(rng: np.random.Generator, writer: str, name: str, odd: float) -> list[dict[str, str]]:
    """The rows of one person; a name is odd or not, but the same in all of them."""
    joined = writer.startswith(("joined", "quoted"))  # without escapes a cell may change a name: one row
    who, rows = name + (_cell(rng, writer) if rng.random() < odd / 2 else ""), []
    for _ in range(1 if joined else rng.integers(1, 4)):
        row = {"who": who, "sex": str(rng.choice(["F", "M"])), "age": str(rng.integers(0, 100)), "note": "x"}
        rows.append(row | {c: _cell(rng, writer) for c in ("sex", "age", "note") if rng.random() < odd})
    return rows


HEADERS = [
    "who,sex,age,note",
    "who,sex,age,note,",  # a delimiter more than rows have
    'who,sex,age,note,height 5"',
    "sex,age,note,who",
    "note,who,sex,age",  # here, and below, a delimiter that is not quoted makes another's name of a cell
    "sex,age,who,note,",
    'sex,age,who,note,height 5"',
]
SEX, AGE = hr.Categorical(["F", "M"], other=True, missing=True), hr.bins(0, 100, 20, other=True, missing=True)
DOMAINS = [
    hr.Domain({"sex": SEX, "age": AGE}),
    hr.Domain({"who": hr.Categorical(["b0", "b1", "p"], other=True, missing=True), "sex": SEX}),
    hr.OpenDomain("who"),
]


@pytest.mark.parametrize("writer", WRITERS)
def test_any_bytes_of_one_person_move_tables_by_no_more_than_claimed_or_are_refused(
    tmp_path, exact, writer, size
):
    """About 10^5 cells of adversarial bytes at full size, in the bystanders' rows too."""
    rng = np.random.default_rng(sum(writer.encode()))
    end = "\r\n" if "CRLF" in writer else "\r" if "CR" in writer else "\n"
    path, opened, tries = tmp_path / "d.csv", 0, size(20, 1000)
    for turn in range(tries):
        odd = 0.5 * (turn % 2)  # every other file has odd bystanders
        others = [_person(rng, writer, f"b{i}", odd * rng.random()) for i in range(rng.integers(1, 6))]
        person = _person(rng, writer, "p", rng.choice([0.2, 0.6]))
        place = rng.integers(0, len(others) + 1)
        people = [*others[:place], person, *others[place:]]
        most, multiline = int(rng.integers(1, 3)), writer in STANDARD and bool(rng.integers(2))
        header = HEADERS[rng.integers(len(HEADERS) if writer in STANDARD else 4)]
        options = {"unit": "who", "max_rows": most, "null_units": rng.choice(["drop", "row"])}
        options |= {"domain": DOMAINS[rng.integers(len(DOMAINS))], "multiline": multiline}
        found = []
        for group in (people, others):
            cells = [[row[c] for c in header.split(",") if c in row] for rows in group for row in rows]
            path.write_bytes((header + end + WRITERS[writer](cells)).encode())
            found.append(exact(path, **options))
        if not any(isinstance(tables, str) for tables in found):
            opened += 1
            assert _moved(*found) <= most, (turn, header, options)
    assert opened > tries // 5


def _moved(one, two) -> int:
    """The most that any table, or the counts of all names, moved in L1."""
    changes = [np.abs(one.get(key, 0) - two.get(key, 0)).sum() for key in {*one, *two}]
    return int(max(changes) if () in one else sum(changes))
