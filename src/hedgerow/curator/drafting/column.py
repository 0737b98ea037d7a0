"""SeenColumn: what was seen of one column of a file."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.drafting.codes import Codes
from hedgerow.curator.drafting.date_formats import DateFormats
from hedgerow.curator.drafting.identifiers import called_id, ends_in_id
from hedgerow.queries.domain import written
from hedgerow.queries.domain.days import as_days, as_hours
from hedgerow.queries.domain.encoding import as_numbers, as_text, kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

TRACKED = 100_000  # different values; beyond, a column has too many to be told apart
_SAMPLE = 1 << 18  # numbers kept of a column
_DECIMALS = 6
_WORDS = 1000  # different words that are tracked apart
_FEW = 12  # numbers so few may be codes
_TAKEN, _MOST_TAKEN, _STRAY = 5, 0.1, 0.01  # words beside numbers: how many, and which part, at most
_MARKS = {
    ",": "^\\s*[+-]?(\\d{1,3}([. \u00a0\u202f']\\d{3})+|\\d+),\\d+\\s*$",  # with decimals after a comma
    ".": "^\\s*[+-]?[1-9]\\d{0,2}([, \u00a0\u202f']\\d{3})+(\\.\\d*)?\\s*$",  # with marks between thousands
}


@dataclass
class SeenColumn:
    """What was seen of one column."""

    name: str
    rows: int = 0
    missing: int = 0
    blanks: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] | None = field(default_factory=Counter)
    numbers: int = 0
    endless: int = 0
    marked: Counter[str] = field(default_factory=Counter)
    readable: Counter[str] = field(default_factory=Counter)
    zeros: int = 0
    dates: int = 0
    decimals: int = 0
    low: float = np.inf
    high: float = -np.inf
    first: float = np.inf
    last: float = -np.inf
    hours: set[float] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    formats: DateFormats = field(default_factory=DateFormats)
    codes: Codes = field(default_factory=Codes)
    unanswered: tuple[int, ...] = ()
    words: Counter[str] | None = field(default_factory=Counter)
    wordy: int = 0
    taken: tuple[str, ...] = ()
    stray: int = 0

    def __post_init__(self) -> None:
        self._sample: list[NDArray[np.float64]] = []
        self._stride, self._kept = 1, 0
        self._content = blake2b(digest_size=16)

    def see(self, array: pa.Array) -> None:
        """Take in one batch."""
        kind = kind_of(array.type)
        self.kinds.add(kind)
        self.rows += len(array)
        texts, times = self._tally(array)
        blank = np.array([t.strip().lower() in written.WORDS for t in texts], dtype=np.bool_)
        if kind == "text":
            for i in np.flatnonzero(blank).tolist():
                self.blanks[texts[i].strip()] += int(times[i])
        if self.counts is not None:
            self.counts.update(dict(zip(texts, times.tolist(), strict=True)))
            if len(self.counts) > TRACKED:
                self.counts = None
        cells = pa_text(texts)
        if kind in ("text", "integer", "float"):
            self._see_numbers(cells, times, kind)
        if kind in ("text", "date"):
            self._see_days(*((cells, times) if kind == "text" else (array, None)))
        if kind in ("text", "integer"):
            held = _matches(cells, r"\d")  # without a digit it is no date, and no number
            self._see_words([texts[i] for i in np.flatnonzero(~held & ~blank)], times[~held & ~blank])
            self.formats.see([texts[i] for i in np.flatnonzero(held & ~blank)])

    def _see_words(self, texts: list[str], times: NDArray[np.int64]) -> None:
        """Take in different texts without any digit, and how often each comes."""
        endless = np.isinf(as_numbers(pa_text(texts))[0])
        self.wordy += int(times[~endless].sum())
        if self.words is None:
            return
        for i in np.flatnonzero(~endless).tolist():
            self.words[texts[i].strip()] += int(times[i])
        if len(self.words) > _WORDS:
            self.words = None

    def _tally(self, array: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
        """The different texts of a batch that are there, and how often each is."""
        import pyarrow.compute as pc

        held = as_text(array).dictionary_encode()
        texts = held.dictionary.to_pylist()
        codes = np.asarray(pc.fill_null(held.indices, len(texts)), dtype=np.int64)
        self._content.update(repr((len(codes), texts)).encode() + codes.tobytes())
        times = np.bincount(codes, minlength=len(texts) + 1)
        here = [i for i, t in enumerate(texts) if t != ""]
        self.missing += int(times.sum() - times[here].sum())
        return [texts[i] for i in here], times[here]

    def _see_numbers(self, cells: pa.Array, times: NDArray[np.int64], kind: str) -> None:
        numbers = as_numbers(cells)[0]
        self.numbers += int(times[np.isfinite(numbers)].sum())
        self.endless += int(times[np.isinf(numbers)].sum())
        if kind == "text":
            self.zeros += int(times[_matches(cells, r"^\s*0\d+\s*$")].sum())
            read = {mark: as_numbers(written.plain_numbers(cells, mark))[0] for mark in _MARKS}
            for mark, pattern in _MARKS.items():
                self.marked[mark] += int(times[_matches(cells, pattern)].sum())
                self.readable[mark] += int(times[np.isfinite(read[mark])].sum())
            numbers = read.get(self._mark or "", numbers)
        there = np.isfinite(numbers)
        numbers, times = numbers[there], times[there]
        if len(numbers):
            self.codes.see(cells.filter(pa_mask(there)).to_pylist(), numbers, times)
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))
            self.decimals = max(self.decimals, _decimals(numbers))
            self._keep(np.repeat(numbers, times))

    def _keep(self, numbers: NDArray[np.float64]) -> None:
        """Every so many a number, so that the bulk of a large file is known in a small place."""
        self._sample.append(numbers[:: self._stride])
        self._kept += len(self._sample[-1])
        if self._kept > _SAMPLE:
            thin = np.concatenate(self._sample)[::2]
            self._sample, self._kept, self._stride = [thin], len(thin), 2 * self._stride

    def _see_days(self, cells: pa.Array, times: NDArray[np.int64] | None) -> None:
        days = as_days(cells)[0]
        there = ~np.isnan(days)
        if there.any():
            self.dates += int(there.sum() if times is None else times[there].sum())
            days = days[there]
            self.first, self.last = min(self.first, float(days.min())), max(self.last, float(days.max()))
            hours = as_hours(cells)[0]
            self.hours.update(np.unique(hours[~np.isnan(hours)]).tolist())

    def answered(self, least: int) -> SeenColumn:
        """The same column, in which words and numbers that stand for no answer are words for nothing."""
        return self._without_words(least)._without_codes(least)

    def _without_words(self, least: int) -> SeenColumn:
        """The same without a few repeated words, where nearly all else are numbers, dates or times.

        Those without a digit: `75+` is an answer. A word for yes or no may be one, and so may a letter
        beside a handful of numbers.
        """
        held = self.words or Counter()
        common = Counter({word: n for word, n in held.items() if n >= least})
        stray = self.wordy - common.total()
        few = len(common) <= _TAKEN and 0 < self.wordy <= _MOST_TAKEN * self.said
        if not few or not held or self.zeros or stray > _STRAY * self.said:
            return self
        if {word.lower() for word in held} & {*written.TRUE, *written.FALSE}:
            return self
        made = copy.copy(self)
        made.blanks, made.wordy = self.blanks + common, 0
        made.taken, made.stray = tuple(sorted(common)), stray
        if self.counts is not None:
            made.counts = Counter({text: n for text, n in self.counts.items() if text.strip() not in held})
        letters = any(len(word) == 1 and word.isalpha() for word in held)
        if letters and made.number and (made.different or _FEW) <= _FEW:
            return self
        kinds = (made.number, made.dates == made.said, made.day is not None, made.time is not None)
        return made if made.said >= least and any(kinds) else self

    def _without_codes(self, least: int) -> SeenColumn:
        codes = self.codes.missing(least) if self.number else ()
        if not codes:
            return self
        spelled = self.codes.spelled(codes)
        made = copy.copy(self)
        made.unanswered, made.blanks = codes, self.blanks + spelled
        made.numbers = self.numbers - spelled.total()
        made.readable = Counter({mark: n - spelled.total() for mark, n in self.readable.items()})
        if self.counts is not None:
            made.counts = Counter({text: n for text, n in self.counts.items() if text not in spelled})
        made.low, made.high = self.codes.ends(codes)
        made._sample = [self.sample[~np.isin(self.sample, codes)]]
        return made

    @property
    def present(self) -> int:
        """How many values are there."""
        return self.rows - self.missing

    @property
    def said(self) -> int:
        """How many of them are more than a word for nothing."""
        return self.present - self.blanks.total() - self.stray

    @property
    def values(self) -> Counter[str] | None:
        """The different values that are more than a word for nothing, if there are not too many."""
        if self.counts is None:
            return None
        return Counter({v: n for v, n in self.counts.items() if v.strip().lower() not in written.WORDS})

    @property
    def sample(self) -> NDArray[np.float64]:
        """Numbers of the column in order, all or every so many."""
        return np.sort(np.concatenate(self._sample)) if self._sample else np.zeros(0)

    @property
    def _mark(self) -> str | None:
        """What seems to stand before decimals, as most can be read; else commas part thousands."""
        marks = [mark for mark in (".", ",") if self.marked[mark]]
        if len(marks) == 2 and self.marked["."] < self.marked[","]:
            marks.reverse()
        return max(marks, key=lambda mark: self.readable[mark], default=None)

    @property
    def decimal(self) -> str | None:
        """The declared `decimal` that its numbers need: some have marks, and all can be read so."""
        return self._mark if self._mark and self.readable[self._mark] + self.endless == self.said else None

    @property
    def number(self) -> bool:
        """Whether all that is said are numbers."""
        all_ = self.numbers > 0 and self.numbers + self.endless == self.said
        return self.said > 0 and (all_ or self.decimal is not None)

    @property
    def day(self) -> tuple[str, float, float] | None:
        """The format of its days, with the first and the last of them, if all that is said are such."""
        return None if self.wordy else self.formats.day

    @property
    def time(self) -> str | None:
        """The format of its times of day, if all that is said are such."""
        return None if self.wordy else self.formats.time

    @property
    def whole(self) -> bool:
        """Whether all numbers are whole."""
        return self.decimals == 0

    @property
    def step(self) -> Fraction | None:
        """What its numbers are multiples of, if that is a power of ten."""
        return Fraction(1, 10**self.decimals) if self.decimals <= _DECIMALS else None

    @property
    def different(self) -> int | None:
        """How many different numbers or texts there are; None if too many to tell."""
        values = self.values
        if values is None:
            return None
        return len({float(v) for v in values}) if self.number and self.decimal is None else len(values)

    @property
    def content(self) -> bytes:
        """The same for columns that hold the same in every row."""
        return self._content.digest()

    @property
    def named_id(self) -> bool:
        """Whether the name says that it is an identifier, or may say so and the values are whole numbers."""
        whole = self.number and self.whole and self.decimal is None and self.low >= 0
        return called_id(self.name) or (whole and ends_in_id(self.name))

    @property
    def repeated(self) -> str | None:
        """What is odd about texts that mean the same, or None if there are none."""
        values = list(self.values or ())
        if self.number:
            return None
        plain, folded = ({fold(v.strip()) for v in values} for fold in (str, str.casefold))
        how = [
            words
            for words, same in (
                ("in spaces around them", len(plain) == len(values)),
                ("in upper and lower case", len(folded) == len(plain)),
            )
            if not same
        ]
        if not how:
            return None
        ways = " or ".join(how)
        return f"some values differ {ways} alone, and are different levels: clean the data"


def pa_text(texts: list[str]) -> pa.Array:
    """Texts as an Arrow array."""
    import pyarrow as pa

    return pa.array(texts, pa.string())


def pa_mask(kept: NDArray[np.bool_]) -> pa.Array:
    """Truth values as an Arrow array."""
    import pyarrow as pa

    return pa.array(kept)


def _matches(cells: pa.Array, pattern: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(cells, pattern))


def _decimals(numbers: NDArray[np.float64]) -> int:
    """How many decimals the numbers have, as they would be written; one more than can be used if many."""
    for places in range(_DECIMALS + 1):
        if (np.abs(numbers) < 2**52).all() and (np.round(numbers, places) == numbers).all():
            return places
    return _DECIMALS + 1
