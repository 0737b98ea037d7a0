"""SQL of the larger dialect: one question where that is enough, else a statement in two stages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue, HedgerowError, UnknownColumn, UnsupportedSQL
from hedgerow.queries.sql import statement
from hedgerow.queries.sql.stages.joins import without_joins
from hedgerow.queries.sql.stages.two_stages import TwoStages

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.question import Question

_NAMED = re.compile(r"'([^']{1,60})'|\b[A-Z][A-Z_]{2,}\b")  # what is quoted, or written in capitals


def sql(
    domain: Domain, text: str, *, unit: str | None = None, params: Sequence[Any] = ()
) -> Question | TwoStages:
    """What one SQL statement asks; raises UnsupportedQuery or DomainMismatch with one sentence.

    Counts, sums and averages with any condition on declared columns, by groups: one question. What acts on
    released numbers - HAVING, windows, subqueries, UNION, arithmetic - is worked out from them when they are
    released. The text is compiled, never executed.

    Args:
        domain: the declared attributes; the statement's one table has them as columns.
        text: SQL as DuckDB reads it.
        unit: the column that names people, for COUNT(DISTINCT unit).
        params: values for ? in order, or for $1, $2.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> domain = Domain({"sex": ["F", "M"], "age": 5})
    >>> sql(domain, "SELECT COUNT(*) FROM t WHERE sex = ? AND age >= ?", params=["F", 3]).attributes
    ('sex', 'age')
    >>> sql(domain, "SELECT sex FROM t GROUP BY sex HAVING COUNT(*) > 10")
    TwoStages('SELECT sex FROM t GROUP BY sex HAVING COUNT(*) > 10')
    """
    if isinstance(params, (str, bytes)) or not isinstance(params, Sequence):
        raise BadValue("`params` is a list of values")
    try:
        return _first_or_both(domain, text, unit, tuple(params))
    except HedgerowError as error:
        raise _placed(error, text) from None


def _first_or_both(
    domain: Domain, text: str, unit: str | None, params: tuple[Any, ...]
) -> Question | TwoStages:
    refusal: HedgerowError | None = None
    plain, notes = without_joins(domain, text) if getattr(domain, "tables", None) else (text, ())
    if not params:
        try:
            question = statement.sql(domain, plain, unit=unit)
            if all(form.units == question.units for form in question.forms):  # else asked for apart
                return replace(question, notes=(*question.notes, *notes)) if notes else question
        except (UnsupportedSQL, UnknownColumn) as error:  # a name may be an alias, or name people
            refusal = error
    try:
        return TwoStages(domain, plain, unit, params, notes=notes).checked()
    except RecursionError:
        raise refusal or UnsupportedSQL("the statement is nested too deeply") from None


def _placed(error: HedgerowError, text: str) -> HedgerowError:
    """The same error with the place of the word that it names, where that is in the text."""
    if error.position is None and isinstance(text, str):
        named = [m[1] or m[0] for m in _NAMED.finditer(str(error))]
        found = (re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in named)
        at = next((match.start() for match in found if match), None)
        if at is not None:
            error.position = (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
    return error
