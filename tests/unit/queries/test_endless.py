"""Numbers of groups that may have no rows: they have no bound, and the answer says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.queries.result import Result, Show

N = 4000
DOMAIN = hr.Domain(
    {"town": hr.Categorical(["a", "b", "nobody"], other=True), "x": hr.Bins([0, 10, 20, 40], step=1)}
)
ROWS = {"town": ["a", "b"] * (N // 2), "x": [i % 40 for i in range(N)]}


@pytest.fixture(scope="module", params=["query", "ask"])
def ask(request):
    """A release, or a session."""
    curator = hr.Curator(hr.Table.open(ROWS, DOMAIN), hr.Budget(epsilon=4, delta=1e-9), ":memory:")
    if request.param == "ask":
        return hr.Session(epsilon=2).open(curator).ask
    return hr.AdaptiveRelease().release(curator, hr.marginals(DOMAIN, 2)).answer


def test_an_average_of_nobody_is_pointed_at(ask):
    answer = ask("SELECT town, AVG(x) AS m FROM t GROUP BY town ORDER BY m DESC LIMIT 4")
    many = int((np.isinf(answer.error) & np.isfinite(answer.value)).sum())
    notes = [n for n in answer.notes if "has no bound" in n]
    assert len(notes) == (many > 0)
    assert all(f"'m' has no bound in {many} of {len(answer.value)} rows" in n for n in notes)
    enough = ask("SELECT town, AVG(x) AS m FROM t GROUP BY town HAVING COUNT(*) >= 500")
    assert not any("has no bound" in n for n in enough.notes)


def test_numbers_without_a_bound_are_counted_by_column():
    values, errors = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]]), np.full((3, 2), np.inf)
    errors[:, 1] = 1.0
    show = (Show("town", 0, aggregate=False), Show("m", 0, aggregate=True), Show("n", 1, aggregate=True))
    made = Result(("town", "m", "n"), (("a",), ("b",), ("c",)), values, errors, 0.95, show, grouped=True)
    (note,) = made.endless
    assert note.startswith("'m' has no bound in 2 of 3 rows")
    assert replace(made, grouped=False).endless == ()
    assert replace(made, errors=np.ones((3, 2))).endless == ()


def test_values_that_are_not_declared_count_as_one(ask):
    said = ask("SELECT COUNT(DISTINCT town) FROM t").notes
    assert any("All values of 'town' that are not declared count as one" in n for n in said)
    assert not any("count as one" in n for n in ask("SELECT COUNT(*) FROM t").notes)
