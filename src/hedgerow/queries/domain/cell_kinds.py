"""CellKinds: what a cell is by its form - nothing, a number, a date, a word; a public question.

Its levels are declared by this file and by nothing else, and a cell is exactly one of them, the first in
order. So how many cells of each kind a column has is a table like any other, and a schema can be drafted from
noisy counts of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute
from hedgerow.queries.domain.days import as_days
from hedgerow.queries.domain.encoding import as_numbers, as_text, kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

NOTHING, DATE, TRUTH, CODE, WHOLE, COMMA, GROUPED, WORD = (
    "nothing", "date", "truth", "code", "whole", "comma", "grouped", "word",
)  # fmt: skip
DECIMALS = ("decimal 1", "decimal 2", "decimal 3", "decimal 4", "decimal more")
FORMATS = (
    "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y",
    "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M", "%H:%M", "%H:%M:%S",
)  # fmt: skip
KINDS = (NOTHING, DATE, TRUTH, CODE, WHOLE, *DECIMALS, COMMA, GROUPED, *FORMATS, WORD)


@dataclass(frozen=True, eq=False)
class CellKinds(Attribute):
    """The kinds of cells, as levels.

    >>> CellKinds().encode(["7", "7.5", "NA", "yes", "31.12.2024", "Rose"]).tolist()
    [4, 5, 0, 2, 14, 25]
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"text", "integer", "float", "boolean", "date"})

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """All kinds."""
        return KINDS

    def describe(self) -> str:
        """What the attribute is, in a few words."""
        return "kinds of cells"

    def _body(self) -> dict[str, Any]:
        return {"kinds": list(KINDS)}

    def _encode_arrow(self, array: pa.Array) -> NDArray[np.int32]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        kind = kind_of(array.type)
        text = pc.fill_null(pc.utf8_trim_whitespace(as_text(array)), "")
        lower = pc.utf8_lower(text)
        blank = np.asarray(pc.is_in(lower, value_set=pa.array(["", *written.WORDS], pa.string())))
        numbers = as_numbers(text)[0]
        finite = np.isfinite(numbers)
        truths = [w for w in (*written.TRUE, *written.FALSE) if w not in ("0", "1")]
        is_text = np.full(len(text), kind == "text", dtype=np.bool_)
        tests: list[tuple[str, NDArray[np.bool_]]] = [
            (NOTHING, blank),
            (DATE, ~np.isnan(as_days(text)[0])),
            (TRUTH, np.asarray(pc.is_in(lower, value_set=pa.array(truths, pa.string())))),
            (CODE, is_text & _has(text, r"^0\d+$")),
            (WHOLE, finite & (numbers == np.trunc(np.where(finite, numbers, 0)))),
        ]
        tests += [
            (name, finite & (np.round(numbers, d + 1) == numbers)) for d, name in enumerate(DECIMALS[:-1])
        ]
        tests.append((DECIMALS[-1], finite))
        tests.append((GROUPED, is_text & _has(text, r"^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$")))
        tests.append((COMMA, is_text & np.isfinite(as_numbers(written.plain_numbers(text, ","))[0])))
        for format in FORMATS:
            tests.append((format, is_text & _written(text, format)))
        codes = np.full(len(text), KINDS.index(WORD), dtype=np.int32)
        for name, here in reversed(tests):
            codes[here] = KINDS.index(name)
        return codes


def _has(text: pa.Array, pattern: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(text, pattern))


def _written(text: pa.Array, format: str) -> NDArray[np.bool_]:
    if written.is_time(format):
        return np.asarray(np.isfinite(as_numbers(written.hours(text, format))[0]))
    return np.asarray(~np.isnan(as_days(written.iso_days(text, format))[0]))
