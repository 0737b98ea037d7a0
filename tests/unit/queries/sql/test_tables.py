"""A statement is about the dataset it is sent to, whatever it makes on the way."""

from __future__ import annotations

import pytest

from hedgerow.errors import UnknownTable
from hedgerow.queries.sql.tables import refuse_other


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t",
        'SELECT COUNT(*) FROM "People"',
        "SELECT COUNT(*) FROM public.people AS p WHERE p.sex = 'F'",
        "SELECT EXTRACT(YEAR FROM born) AS y, COUNT(*) FROM people GROUP BY y",
        "WITH a AS (SELECT COUNT(*) AS n FROM t), b AS (SELECT n FROM a) SELECT n FROM b",
        "SELECT AVG(n) FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS inner_",
        "SELECT c.land, COUNT(*) FROM people JOIN towns c ON people.town = c.town GROUP BY c.land",
    ],
)
def test_its_own_tables_are_known(text):
    refuse_other(text, "people", ["Towns"])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits",
        "SELECT COUNT(*) FROM other.people",
        "SELECT COUNT(*) FROM a.public.people",
        "WITH visits AS (SELECT COUNT(*) AS n FROM people) SELECT COUNT(*) FROM x.visits",
        "SELECT (SELECT COUNT(*) FROM visits) FROM people",
    ],
)
def test_other_tables_are_refused_by_name(text):
    with pytest.raises(UnknownTable, match="there is 'people'"):
        refuse_other(text, "people")
