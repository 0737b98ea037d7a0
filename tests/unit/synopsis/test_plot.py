"""Pictures of answers: the kind that suits the groups, all bounds in it, files of four kinds."""

from __future__ import annotations

import json
from base64 import b64decode

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.plot import Plot
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.drawing import plotted
from hedgerow.synopsis.frame import Frame, FrameColumn, LabelColumn


def table(**axes) -> Answer:
    """A whole table of counts 1, 2, 3 ... with error 1."""
    named = tuple((name, tuple(levels)) for name, levels in axes.items())
    shape = tuple(len(levels) for _, levels in named)
    values = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    return Answer(values, np.ones(shape), 0.95, "measured", axes=named)


BINS = hr.bins(0, 40, 10, missing=True).labels
MONTHS = hr.dates("2020-01-01", "2020-07-01", "month").labels


def marks(plot: Plot) -> list[str]:
    return [layer["mark"]["type"] for layer in plot.spec["layer"]]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (table(sex="FM"), ["bar", "rule"]),
        (table(k=[f"level {i}" for i in range(30)]), ["bar", "rule"]),
        (table(age=BINS), ["area", "line", "rule", "point"]),
        (table(month=MONTHS), ["area", "line"]),
        (table(sex="FM", age=BINS), ["rect", "point"]),
        (Answer(5.0, 1.0, 0.95, "measured"), ["bar", "rule"]),
    ],
)
def test_the_picture_suits_the_groups(answer, kind):
    plot = answer.plot()
    assert marks(plot) == kind
    rows = plot.spec["data"]["values"]
    assert len(rows) == np.size(answer.value)
    assert all(row["high"] - row["low"] == pytest.approx(2.0) for row in rows)


def test_bins_that_were_sorted_by_their_numbers_are_no_line():
    assert marks(table(age=["[10, 20)", "[0, 10)", "[20, 30]"]).plot()) == ["bar", "rule"]


def test_null_is_left_out_and_an_unknown_bound_is_not_drawn():
    answer = Answer(np.array([np.nan, 2.0]), np.array([np.inf, np.inf]), 0.95, "measured")
    (row,) = answer.plot().spec["data"]["values"]
    assert (row["value"], row["low"], row["high"]) == (2.0, None, None)
    json.dumps(answer.plot().spec, allow_nan=False)


def test_what_is_no_picture_is_refused_in_one_sentence():
    with pytest.raises(hr.UnsupportedQuery, match="at most two groups"):
        table(a="xy", b="xy", c="xy").plot()
    with pytest.raises(hr.UnsupportedQuery, match="too many"):
        table(k=[str(i) for i in range(1000, 1300)] + ["x", "y", "z"]).plot()
    with pytest.raises(hr.UnsupportedQuery, match="NULL"):
        Answer(float("nan"), 1.0, 0.95, "measured").plot()


def test_files_are_of_the_kind_that_their_ending_says(tmp_path):
    plot = table(sex="FM").plot("<b>Sex</b>")
    begins = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!DOCTYPE html>", "json": b"{"}
    for ending, begin in begins.items():
        plot.save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").read_bytes()[:20].startswith(begin)
    assert "&lt;b&gt;Sex" in plot.svg()
    for wrong in ("x.pdf", "x", tmp_path / "nowhere" / "x.svg"):
        with pytest.raises(hr.HedgerowError):
            plot.save(wrong)


def test_a_notebook_gets_svg_and_a_few_words_and_png_for_who_does_not_trust_it():
    shown = table(sex="FM", age=BINS).plot()._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert b64decode(shown["image/png"]).startswith(b"\x89PNG")
    assert shown["text/plain"] == "Plot(count by sex and age: a heat map)"


def test_several_numbers_are_several_panels():
    domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 40, 10)})
    rows = {"sex": ["F", "M"] * 50, "age": [5, 25] * 50}
    curator = hr.Curator(hr.Table.open(rows, domain), hr.Budget(5), ":memory:")
    synopsis = hr.LaplaceBaseline().release(curator, hr.marginals(domain, 2))
    plot = synopsis.answer("SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM t GROUP BY sex").plot()
    assert [panel["title"]["text"] for panel in plot.spec["vconcat"]] == ["n", "a"]
    assert marks(synopsis.plot(("age", "sex"))) == ["rect", "point"]


@pytest.mark.parametrize("name", ["a\\", 'a\\"b', "a\nb", "a\u2028b", "it's `so` \\1"])
def test_any_name_can_be_drawn(name):
    numbers = FrameColumn(name, np.array([1.0, 2.0]), np.array([0.5, 0.5]), ["learned"] * 2)
    assert "<svg" in plotted(Frame((LabelColumn(name, ["x", "y"]), numbers))).svg()
