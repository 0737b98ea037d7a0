"""The compiled loops of `csv_rows`: where rows and cells of CSV text begin and end, by one strict grammar."""

# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False, disallow-untyped-calls=False

import numpy as np
from numba import njit

# What a file's lines end in, as its header's line does.
LF, CRLF, CR = 0, 1, 2
# Where the walk is: the next byte, rows found in this call, lines before that byte, cells that are absent or
# unreadable, the line of the first of them, and the line of what is refused.
POSITION, ROWS, LINES, UNREAD, FIRST, REFUSED = range(6)
# Why a walk ended: the text did (or what is there of it), the arrays are full, or a line cannot be decided.
ENDED, FULL, UNCLOSED, SWALLOWED, NOT_STRICT, ESCAPED, MIXED = range(7)
# How a cell is written.
PLAIN, DOUBLED, MISSING = range(3)

_QUOTE, _BACKSLASH, _NEWLINE, _RETURN, _SPACE, _TAB = 34, 92, 10, 13, 32, 9
_JUNK, _MORE = -1, -2


@njit(cache=True, nogil=True)
def walk(text, final, delimiter, end, names, multiline, slots, starts, stops, kinds, state):
    """Find rows from `state[POSITION]` on, whole ones only, and the cells that `slots` gives a place.

    A row is one line, unless a quoted cell of it runs over the line's end; then it is one row only if that is
    beyond doubt (or `multiline` vouches for it), and refused otherwise. Whatever else is odd about a line is
    settled between its own two ends.
    """
    state[ROWS] = 0
    while state[POSITION] < len(text) and state[ROWS] < starts.shape[1]:
        status = _record(text, final, delimiter, end, names, multiline, slots, starts, stops, kinds, state)
        if status == _MORE:
            return ENDED
        if status != ENDED:
            return status
    return FULL if state[POSITION] < len(text) else ENDED


@njit(cache=True, nogil=True)
def _record(text, final, delimiter, end, names, multiline, slots, starts, stops, kinds, state):
    begin, row = state[POSITION], state[ROWS]
    i, column, lines, crossed, since = begin, 0, 0, False, 0
    odd, stray, surplus, damaged = False, False, False, -1
    while True:
        first = _after_blanks(text, i, delimiter)
        if first == len(text) and not final:
            return _MORE
        kind = PLAIN
        if first < len(text) and text[first] == _QUOTE:
            opened = lines
            start = i = first + 1
            while i < len(text):
                c = text[i]
                if c == _QUOTE:
                    if i + 1 == len(text) or text[i + 1] != _QUOTE:
                        break
                    kind = DOUBLED
                    i += 1
                elif c == _BACKSLASH:
                    odd = True
                elif c == delimiter:
                    since += 1
                elif c in (_NEWLINE, _RETURN):
                    lines += c == (_RETURN if end == CR else _NEWLINE)
                    if _ends_line(text, i, end):
                        crossed, since = True, 0
                if crossed and since >= names - 1 and not multiline:
                    return _refuse(state, opened, SWALLOWED)  # what was run over may be rows of others
                i += 1
            if i + 1 >= len(text) and not final:
                return _MORE
            if i == len(text):
                return _refuse(state, opened, UNCLOSED)
            stop = i
            i = _after_blanks(text, i + 1, delimiter)
            after = _line_end(text, i, final, end)
            if after == _MORE:
                return _MORE
            if after == _JUNK and text[i] != delimiter:
                if crossed or multiline:
                    return _refuse(state, opened, NOT_STRICT)
                odd, damaged = True, column
                while i < len(text) and _line_end(text, i, final, end) == _JUNK and text[i] != _NEWLINE:
                    i += 1
        else:
            start = i
            while i < len(text):
                c = text[i]
                if c > _BACKSLASH and c != delimiter:
                    i += 1
                    continue
                if c in (delimiter, _NEWLINE):
                    break
                if c == _RETURN and _line_end(text, i, final, end) != _JUNK:
                    break
                if c == _QUOTE:
                    odd = stray = True
                elif c == _BACKSLASH:
                    odd = True
                i += 1
            stop = i
        after = _JUNK if i < len(text) and text[i] == delimiter else _line_end(text, i, final, end)
        if after == _MORE:
            return _MORE
        if column < names:
            slot = slots[column]
            if slot >= 0:
                starts[slot, row], stops[slot, row], kinds[slot, row] = start, stop, kind
        else:
            surplus = surplus or stop > start
        column += 1
        if after != _JUNK:
            break
        if text[i] == _NEWLINE:
            return _refuse(state, lines, MIXED)
        since += 1
        if crossed and since >= names - 1 and not multiline:
            return _refuse(state, lines, SWALLOWED)
        i += 1
    if crossed and (column != names or stray):
        return _refuse(state, 0, NOT_STRICT)
    if stray and multiline:
        return _refuse(state, 0, NOT_STRICT)
    if odd and not multiline:
        if crossed:
            if _escapes(text, begin, i):
                return _refuse(state, 0, ESCAPED)
        elif _left_open(text, begin, i, delimiter, True) or _left_open(text, begin, i, delimiter, False):
            return _refuse(state, 0, ESCAPED)
    if i > begin:  # an empty line is no row
        kept = 0 if surplus else min(column, names) if damaged < 0 else min(damaged, names)
        if kept < names:
            state[FIRST] = state[FIRST] if state[UNREAD] else state[LINES]
            state[UNREAD] += names - kept
            for other in range(kept, names):
                if slots[other] >= 0:
                    kinds[slots[other], row] = MISSING
        state[ROWS] = row + 1
    state[POSITION] = after
    state[LINES] += lines + 1
    return ENDED


@njit(cache=True, nogil=True)
def _refuse(state, lines, why):
    state[REFUSED] = state[LINES] + lines
    return why


@njit(cache=True, nogil=True)
def _after_blanks(text, i, delimiter):
    """The first byte from `i` on that is no space around a quoted cell."""
    while i < len(text) and (text[i] == _SPACE or text[i] == _TAB) and text[i] != delimiter:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _line_end(text, i, final, end):
    """Where the next line begins if one ends at `i`; otherwise `_JUNK`, or `_MORE` if that cannot be seen."""
    if i == len(text):
        return i if final else _MORE
    if end == CR:
        return i + 1 if text[i] == _RETURN else _JUNK
    if text[i] == _RETURN:
        if i + 1 == len(text):
            return i + 1 if final else _MORE
        return i + 2 if text[i + 1] == _NEWLINE else _JUNK
    return i + 1 if text[i] == _NEWLINE and end == LF else _JUNK


@njit(cache=True, nogil=True)
def _ends_line(text, i, end):
    """Whether the byte at `i`, inside quotes, ends a line as the header's line ends."""
    if end == CRLF:
        return text[i] == _NEWLINE and text[i - 1] == _RETURN
    return text[i] == (_RETURN if end == CR else _NEWLINE)


@njit(cache=True, nogil=True)
def _left_open(text, begin, stop, delimiter, escapes):
    """Whether a reader that forgives, or one that knows backslashes, would go on with the next line."""
    i = begin
    while i < stop:
        i = _after_blanks(text, i, delimiter)
        quoted = i < stop and text[i] == _QUOTE
        i += quoted
        while i < stop and (quoted or text[i] != delimiter):
            if escapes and text[i] == _BACKSLASH:
                if i + 1 == stop:
                    return True
                i += 1
            elif quoted and text[i] == _QUOTE:
                if i + 1 < stop and text[i + 1] == _QUOTE:
                    i += 1
                else:
                    quoted = False
            i += 1
        if quoted:
            return True
        i += 1
    return False


@njit(cache=True, nogil=True)
def _escapes(text, begin, stop):
    """Whether a backslash stands before a quote or the end of a line."""
    for i in range(begin, stop):
        if text[i] == _BACKSLASH:
            after = text[i + 1] if i + 1 < stop else _NEWLINE
            if after in (_QUOTE, _NEWLINE, _RETURN):
                return True
    return False


@njit(cache=True, nogil=True)
def measure(text, starts, stops, kinds, offsets):
    """Where the text of each cell ends when all are put together."""
    total = np.int64(0)
    offsets[0] = 0
    for row in range(len(starts)):
        if kinds[row] != MISSING:
            total += stops[row] - starts[row]
            if kinds[row] == DOUBLED:
                i = starts[row]
                while i < stops[row]:
                    if text[i] == _QUOTE:
                        total -= 1
                        i += 1
                    i += 1
        offsets[row + 1] = total
    return total


@njit(cache=True, nogil=True)
def gather(text, starts, stops, kinds, offsets, out):
    """Put the cells' texts together; two quotes inside a quoted cell are one."""
    for row in range(len(starts)):
        at = offsets[row]
        if kinds[row] == PLAIN:
            for i in range(starts[row], stops[row]):
                out[at] = text[i]
                at += 1
        elif kinds[row] == DOUBLED:
            i = starts[row]
            while i < stops[row]:
                out[at] = text[i]
                at += 1
                i += 2 if text[i] == _QUOTE else 1
