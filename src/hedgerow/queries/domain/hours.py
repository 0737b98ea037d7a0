"""Hours: the hour of the day of a column of moments, as an attribute beside its days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.errors import DomainMismatch
from hedgerow.queries.domain import days, encoding, written
from hedgerow.queries.domain.bins import Bins, checked_zone

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

PER_DAY = 24


@dataclass(frozen=True, eq=False)
class Hours(Bins):
    """Hours of the day, 0 to 23, of a column that holds moments; a date without a time is at midnight.

    Args:
        of: the column that is read; one of the attribute's own name if None. `HOUR(of)` in SQL is this.
        zone: in which time zone moments with a zone are read, see `Dates`.

    >>> Hours("pickup").encode(["2024-02-29 07:59:59", "2024-02-29T23:00Z", "2024-03-01", "?"]).tolist()
    [7, 23, 0, 24]
    """

    of: str | None = None
    zone: str | None = None
    accepts: ClassVar[frozenset[str]] = frozenset({"date", "text"})
    formats: ClassVar[str] = "moments, like `%d.%m.%Y %H:%M`"
    takes_decimal: ClassVar[bool] = False

    def __init__(self, of: str | None = None, *, zone: str | None = None, **options: Any) -> None:
        if of is not None and not (isinstance(of, str) and of):
            raise DomainMismatch("`of` is the name of the column whose hours are read")
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "zone", checked_zone(zone))
        super().__init__(range(PER_DAY + 1), step=1, **options)

    @property
    def column(self) -> str | None:
        """The column that is read, where it has another name than the attribute."""
        return self.of

    def encode(self, values: Any) -> NDArray[np.int32]:
        """Level codes of a column of moments, objects among them."""
        return self._encode_arrow(encoding.to_arrow(values, timed=True))

    def _numbers(self, array: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        read = self._read(array)
        if self.format is None or encoding.kind_of(array.type) == "date":
            return days.as_hours(read, self.zone)
        hours, wrong = encoding.as_numbers(read)
        return hours // 1, wrong

    def _is_format(self, format: str) -> bool:
        return written.is_moment(format)

    def _plain(self, array: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        assert self.format is not None
        read = written.hours(array, self.format)
        if encoding.kind_of(array.type) != "text":
            return read
        _, never = days.as_days(written.iso_days(array, self.format))  # 31.02. has no hours
        return pc.if_else(pa.array(never), pa.scalar(written.UNREADABLE), read)

    def describe(self) -> str:
        """What the attribute is, in a few words."""
        return "hours of the day" + (f" of {self.of!r}" if self.of else "") + self._of_zone

    @property
    def _of_zone(self) -> str:
        return f" in {self.zone}" if self.zone else ""

    def _body(self) -> dict[str, Any]:
        body = {k: v for k, v in (("of", self.of), ("zone", self.zone)) if v is not None}
        return {"hours": body} | ({} if self.missing else {"missing": False})
