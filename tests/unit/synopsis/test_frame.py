"""An answer as columns: names, bounds and sources, the same in every library."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.frame import Frame

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 40, 10), "odd": ["a|b", 'c"d', "<e>"]})
SQL = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM t GROUP BY sex"


@pytest.fixture(scope="module")
def synopsis() -> hr.Synopsis:
    rng = np.random.default_rng(4)
    rows = {
        "sex": rng.choice(["F", "M"], 500),
        "age": rng.integers(0, 40, 500),
        "odd": rng.choice(["a|b", 'c"d', "<e>"], 500),
    }
    curator = hr.Curator(hr.Table.open(rows, DOMAIN), hr.Budget(epsilon=5), ":memory:")
    return hr.LaplaceBaseline().release(curator, hr.marginals(DOMAIN, 2))


def test_groups_come_first_and_each_number_with_its_bounds_and_source(synopsis):
    answer = synopsis.answer(SQL)
    names = ["sex", *(f"{n}{end}" for n in ("n", "mean") for end in ("", "_low", "_high", "_source"))]
    arrow, pandas, polars = answer.to_arrow(), answer.to_pandas(), answer.to_polars()
    assert arrow.column_names == list(pandas.columns) == polars.columns == names
    assert arrow.to_pylist() == pandas.to_dict("records") == polars.to_dicts()
    assert np.allclose(pandas["n_low"], answer.low[:, 0])
    assert np.allclose(pandas["mean_high"], answer.high[:, 1])
    assert set(pandas["n_source"]) == {"measured"}


def test_low_and_high_lie_the_error_away_on_both_sides():
    one, many = Answer(5.0, 2.0, 0.95, "measured"), Answer(np.array([1.0, 2.0]), 0.5, 0.95, "learned")
    assert (one.low, one.high) == (3.0, 7.0)
    assert many.low.tolist() == [0.5, 1.5]


def test_a_whole_table_knows_its_levels_in_the_order_in_which_they_were_named(synopsis):
    table = synopsis.table(("age", "sex"))
    frame = synopsis.to_pandas(("age", "sex"))
    assert list(frame.columns[:3]) == ["age", "sex", "count"]
    cell = frame[(frame["age"] == "[10, 20)") & (frame["sex"] == "M")]
    assert cell["count"].item() == pytest.approx(table[1, 1])
    assert len(frame) == table.size


def test_a_session_knows_the_levels_of_a_table_too():
    rows = {"sex": ["F", "M"] * 50, "age": [5, 15] * 50, "odd": ["a|b"] * 100}
    curator = hr.Curator(hr.Table.open(rows, DOMAIN), hr.Budget(5, 1e-6), ":memory:")
    with hr.Session().open(curator) as session:
        frame = session.ask(["sex", "age"]).to_pandas()
        assert "answers given" in session._repr_html_()
        assert session._repr_html_().endswith(DOMAIN._repr_html_())
    assert list(frame.columns[:3]) == ["sex", "age", "count"]


def test_numbers_that_were_asked_for_in_a_list_are_numbered():
    answer = Answer(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 0.9, "measured")
    assert answer.to_arrow().column_names[:2] == ["question", "value"]
    assert Answer(1.0, 1.0, 0.9, "measured").to_arrow().num_rows == 1


def test_sources_that_differ_are_told_apart_where_there_is_one_for_each_number():
    values = np.array([1.0, 2.0])
    answer = Answer(values, values, 0.9, "measured", sources=np.array(["certified", "measured"]))
    assert answer.to_arrow()["value_source"].to_pylist() == ["certified", "measured"]
    short = Answer(values, values, 0.9, "measured", sources=np.array(["certified"]))
    assert short.to_arrow()["value_source"].to_pylist() == ["measured", "measured"]


def test_what_is_not_known_is_missing_and_stays_a_column_of_numbers(synopsis):
    answer = Answer(np.array([np.nan, 1.0]), np.array([np.inf, np.inf]), 0.95, "measured")
    assert answer.to_arrow()["value"].to_pylist() == [None, 1.0]
    assert answer.to_polars()["value_low"].to_list() == [None, None]
    assert answer.to_pandas()["value_low"].dtype == np.float64
    assert answer.to_polars()["value_low"].dtype.is_float()


def test_two_columns_of_one_name_both_stay(synopsis):
    answer = synopsis.answer("SELECT COUNT(*) AS n, SUM(age) AS n FROM t")
    assert {"n", "n_2"} <= set(answer.to_arrow().column_names)
    assert len(set(answer.to_arrow().column_names)) == 8


def test_text_forms_hold_labels_with_bars_quotes_and_tags(synopsis):
    answer = synopsis.answer("SELECT odd, COUNT(*) AS n FROM t GROUP BY odd")
    frame = Frame.of(answer)
    assert [row[0] for row in csv.reader(io.StringIO(frame.csv()))][1:] == ["a|b", 'c"d', "<e>"]
    assert "a\\|b" in frame.markdown()
    assert len({line.replace("\\|", "").count("|") for line in frame.markdown().splitlines()}) == 1
    assert "&lt;e&gt;" in answer._repr_html_()
    assert "<e>" not in answer._repr_html_()


def test_a_repr_is_a_table_that_ends(synopsis):
    text = repr(synopsis.answer(("age", "odd")))
    assert text.splitlines()[0].split() == ["age", "odd", "count", "±"]
    assert repr(Answer(np.arange(100.0), 1.0, 0.95, "learned")).count("\n") < 20
    assert "88 more rows" in repr(Answer(np.arange(100.0), 1.0, 0.95, "learned"))
    assert repr(Answer(2176.6, 54.9, 0.95, "measured")) == "Answer(2,177 ± 55 at 0.95, measured)"
    assert repr(Answer(1234.5, 10.0, 0.95, "measured")) == "Answer(1,234.5 ± 10.0 at 0.95, measured)"
    assert "epsilon 5" in repr(synopsis)
    assert DOMAIN._repr_html_() in synopsis._repr_html_()
    assert hr.Budget(1, 1e-6)._repr_html_() == "<b>epsilon 1</b>, delta 1e-06"


def test_names_in_brackets_are_completed():
    plan = hr.plan(DOMAIN, 1000, hr.marginals(DOMAIN, 1), hr.Budget(1, 1e-6), simulate=False)
    for held in (DOMAIN, plan):
        names = held._ipython_key_completions_()
        assert len(names) > 2
        assert all(held[name] for name in names)


def test_a_library_that_is_not_there_is_named_in_one_sentence(monkeypatch):
    import sys

    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(hr.HedgerowError, match=f"{name} is not installed"):
            getattr(Answer(1.0, 1.0, 0.9, "measured"), f"to_{name}")()
