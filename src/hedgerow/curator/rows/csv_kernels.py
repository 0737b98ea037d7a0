"""The compiled loops of `csv_rows`: where rows and cells of CSV text begin and end, by one strict grammar."""

# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False, disallow-untyped-calls=False

import numpy as np

from hedgerow.compiled import njit

# What a file's lines end in, as its header's line does.
LF, CRLF, CR = 0, 1, 2
# Where the walk is: the next byte, rows found in this call, lines before that byte, cells that are absent or
# unreadable, the line of the first of them, and the line of what is refused.
POSITION, ROWS, LINES, UNREAD, FIRST, REFUSED = range(6)
# Why a walk ended: the text did (or what is there of it), the arrays are full, or a line cannot be decided.
ENDED, FULL, UNCLOSED, OPEN, NOT_STRICT, ESCAPED, MIXED, LONG = range(8)
# How a cell is written.
PLAIN, DOUBLED, MISSING = range(3)

_QUOTE, _BACKSLASH, _NEWLINE, _RETURN, _SPACE, _TAB = 34, 92, 10, 13, 32, 9
_JUNK, _MORE, _OTHER = -1, -2, -3


@njit(cache=True, nogil=True)
def walk(text, final, delimiter, end, names, multiline, longest, slots, starts, stops, kinds, state):
    """Find rows from `state[POSITION]` on, whole ones only, and the cells that `slots` gives a place.

    A row is one line. One with a quoted cell that runs over the line's end is refused unless `multiline`
    vouches for it; whatever else is odd about a line is settled between its own two ends.
    """
    state[ROWS] = 0
    while state[POSITION] < len(text) and state[ROWS] < starts.shape[1]:
        status = _record(
            text, final, delimiter, end, names, multiline, longest, slots, starts, stops, kinds, state
        )
        if status == _MORE:
            return _refuse(state, 0, LONG) if len(text) - state[POSITION] > longest else ENDED
        if status != ENDED:
            return status
    return FULL if state[POSITION] < len(text) else ENDED


@njit(cache=True, nogil=True)
def _record(text, final, delimiter, end, names, multiline, longest, slots, starts, stops, kinds, state):
    """One row: its cells, and what is to be said of all of it."""
    begin, row = state[POSITION], state[ROWS]
    i, column, lines, over = begin, 0, 0, 0
    crossed, odd, stray, surplus, damaged = False, False, False, False, names
    while True:
        start, kind = _after_blanks(text, i, delimiter), PLAIN
        if start == len(text) and not final:
            return _MORE
        if start < len(text) and text[start] == _QUOTE:
            start += 1
            i, kind, slash, more, crosses = _quoted(text, start, end, multiline)
            if crosses and not multiline:
                return _refuse(state, lines, OPEN)
            over, crossed = lines if crosses and not crossed else over, crossed or crosses
            if i + 1 >= len(text) and not final:
                return _MORE
            if i == len(text):
                return _refuse(state, lines, UNCLOSED)
            stop, odd, lines = i, odd or slash, lines + more
            i = _after_blanks(text, i + 1, delimiter)
            if _is_junk(text, i, final, delimiter, end):
                odd, stray, damaged = True, True, min(damaged, column)
                while _is_junk(text, i, final, delimiter, end) or (i < len(text) and text[i] == delimiter):
                    i += 1
        else:
            start = i
            i, quote, slash = _unquoted(text, i, final, delimiter, end)
            stop, odd, stray = i, odd or quote or slash, stray or quote
        after = _JUNK if i < len(text) and text[i] == delimiter else _line_end(text, i, final, end)
        if after == _MORE:
            return _MORE
        if after == _OTHER:
            return _refuse(state, lines, MIXED)
        if column >= names:
            surplus = surplus or stop > start
        elif slots[column] >= 0:
            slot = slots[column]
            starts[slot, row], stops[slot, row], kinds[slot, row] = start, stop, kind
        column += 1
        if after != _JUNK:
            break
        i += 1
    if i - begin > longest:
        return _refuse(state, 0, LONG)
    if multiline and (stray or (crossed and column != names)):
        return _refuse(state, over, NOT_STRICT)
    if odd and not multiline and _in_doubt(text, begin, i, delimiter):
        return _refuse(state, 0, ESCAPED)
    if i > begin:  # an empty line is no row
        _forget(0 if surplus else min(column, damaged), names, slots, kinds, state)
    state[POSITION] = after
    state[LINES] += lines + 1
    return ENDED


@njit(cache=True, nogil=True)
def _quoted(text, i, end, multiline):
    """Where a quoted cell ends, from inside it on, and whether it runs over the end of a line.

    Unless `multiline` vouches for it the first such end is where the search ends: what follows may be a row
    of somebody else's, however few cells it has. A carriage return alone may be one where lines end in CRLF.
    """
    kind, slash, lines, crosses = PLAIN, False, 0, False
    while i < len(text) and (multiline or not crosses):
        c = text[i]
        if c == _QUOTE:
            if i + 1 == len(text) or text[i + 1] != _QUOTE:
                break
            kind = DOUBLED
            i += 1
        elif c == _BACKSLASH:
            slash = True
        elif c in (_NEWLINE, _RETURN):
            lines += c == (_RETURN if end == CR else _NEWLINE)
            crosses = crosses or c == (_NEWLINE if end == LF else _RETURN)
        i += 1
    return i, kind, slash, lines, crosses


@njit(cache=True, nogil=True)
def _unquoted(text, i, final, delimiter, end):
    """Where an unquoted cell ends, and whether it holds a quote or a backslash."""
    quote, slash = False, False
    while i < len(text):
        c = text[i]
        if c == delimiter or (c <= _RETURN and _line_end(text, i, final, end) != _JUNK):
            break
        if c == _QUOTE:
            quote = True
        elif c == _BACKSLASH:
            slash = True
        i += 1
    return i, quote, slash


@njit(cache=True, nogil=True)
def _forget(kept, names, slots, kinds, state):
    """Close a row of which only the first `kept` cells can be told."""
    if kept < names:
        if not state[UNREAD]:
            state[FIRST] = state[LINES]
        state[UNREAD] += names - kept
        for column in range(kept, names):
            if slots[column] >= 0:
                kinds[slots[column], state[ROWS]] = MISSING
    state[ROWS] += 1


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
    """Where the next line begins if one ends at `i`; otherwise `_JUNK`, or `_MORE` if that cannot be seen.

    It is `_OTHER` if the line ends unlike the header's. A carriage return is a character inside lines that
    end in LF alone: at their end it could be the last cell's, or half of a CRLF.
    """
    if i == len(text):
        return i if final else _MORE
    if text[i] == _NEWLINE:
        return i + 1 if end == LF else _OTHER
    if text[i] != _RETURN:
        return _JUNK
    if end == CR:
        return i + 1
    if i + 1 == len(text):
        return _OTHER if final else _MORE
    if text[i + 1] == _NEWLINE:
        return i + 2 if end == CRLF else _OTHER
    return _JUNK if end == LF else _OTHER


@njit(cache=True, nogil=True)
def _is_junk(text, i, final, delimiter, end):
    """Whether something follows a closing quote that is neither a delimiter nor the end of a line."""
    return i < len(text) and text[i] != delimiter and _line_end(text, i, final, end) == _JUNK


@njit(cache=True, nogil=True)
def _in_doubt(text, begin, stop, delimiter):
    """Whether another reader would not end a row with quotes or backslashes in odd places where we do."""
    return _left_open(text, begin, stop, delimiter, True) or _left_open(text, begin, stop, delimiter, False)


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
