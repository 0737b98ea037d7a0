"""ServedAnswer: what a server answered - numbers, each with its error, low, high and source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hedgerow.client import picture
from hedgerow.client.failure import Price

_PARTS = ("low", "high", "source")


class ServedAnswer:
    """An answer.

    A question with one number gives a number; one with groups gives a list, a number for each group; one
    with several numbers gives a dictionary of those, by column. `groups` says which group is which.

    Args:
        told: the server's words.

    >>> number = {"value": 10.0, "error": 2.0, "low": 8.0, "high": 12.0, "source": "learned"}
    >>> answer = ServedAnswer({"columns": ["n"], "rows": [{"n": number}], "source": "learned"})
    >>> answer.value, answer.low, answer.high
    (10.0, 8.0, 12.0)
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told
        self.columns: tuple[str, ...] = tuple(told["columns"])
        self.rows: list[dict[str, Any]] = told["rows"]
        first = self.rows[0] if self.rows else {}
        self.measures: tuple[str, ...] = tuple(c for c in self.columns if isinstance(first.get(c), dict))

    @property
    def value(self) -> Any:
        """The number, or numbers."""
        return self._part("value")

    @property
    def error(self) -> Any:
        """How far off each may be, with the answer's confidence; None where nothing is said."""
        return self._part("error")

    @property
    def low(self) -> Any:
        """The lower end of each number's interval."""
        return self._part("low")

    @property
    def high(self) -> Any:
        """The upper end of each number's interval."""
        return self._part("high")

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """What each row is about: the values of the columns that were grouped by."""
        names = [name for name in self.columns if name not in self.measures]
        return [tuple(row[name] for name in names) for row in self.rows]

    @property
    def source(self) -> str:
        """certified, measured or learned."""
        return str(self._told["source"])

    @property
    def confidence(self) -> float | None:
        """How sure the intervals are."""
        found: float | None = self._told.get("confidence")
        return found

    @property
    def simultaneous(self) -> bool:
        """Whether the intervals hold all at once."""
        return bool(self._told.get("simultaneous"))

    @property
    def cost(self) -> Price | None:
        """What asking cost; None if it was free."""
        return Price.of(self._told.get("cost"))

    @property
    def remaining(self) -> Price | None:
        """What may still be spent."""
        return Price.of(self._told.get("remaining"))

    @property
    def cached(self) -> bool:
        """Whether it had been answered before."""
        return bool(self._told.get("cached"))

    @property
    def request(self) -> str | None:
        """The id by which the same answer is had again, free."""
        found: str | None = self._told.get("request")
        return found

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The line of the ledger that the answer was charged in."""
        found: dict[str, Any] | None = self._told.get("receipt")
        return found

    @property
    def notes(self) -> list[str]:
        """What else is to be known about the numbers."""
        return list(self._told.get("notes") or ())

    @property
    def private(self) -> bool:
        """Whether real noise protects it; False for answers of tests with a seed."""
        return bool(self._told.get("private", True))

    def to_json(self) -> dict[str, Any]:
        """The server's own words."""
        return self._told

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns: NAME, and for numbers NAME_low, NAME_high, NAME_source beside it."""
        made: dict[str, list[Any]] = {}
        for name in self.columns:
            if name in self.measures:
                made[name] = [row[name]["value"] for row in self.rows]
                for part in _PARTS:
                    made[f"{name}_{part}"] = [row[name].get(part) for row in self.rows]
            else:
                made[name] = [row[name] for row in self.rows]
        return made

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the columns of `to_dict`."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A polars DataFrame with the columns of `to_dict`."""
        import polars as pl

        return pl.DataFrame(self.to_dict(), strict=False)

    def to_arrow(self) -> Any:
        """An Arrow table with the columns of `to_dict`."""
        import pyarrow as pa

        return pa.table(self.to_dict())

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return picture.text(self)

    def _repr_html_(self) -> str:
        return picture.html(self)

    def _part(self, part: str) -> Any:
        found = {name: [row[name].get(part) for row in self.rows] for name in self.measures}
        if len(found) != 1:
            return found if self.measures else []
        (numbers,) = found.values()
        return numbers[0] if len(self.columns) == 1 and len(numbers) == 1 else numbers
