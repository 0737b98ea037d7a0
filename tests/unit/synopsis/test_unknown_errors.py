"""What is drawn of a number whose error nobody knows, and of bins that are not equally wide."""

from __future__ import annotations

import numpy as np

from hedgerow.serve.console import charts
from hedgerow.synopsis.drawing import plotted, unequal
from hedgerow.synopsis.frame import Frame, FrameColumn, LabelColumn

NAMES = ["north", "south", "other"]


def frame(labels, values, errors, name="region"):
    numbers = FrameColumn("a", np.array(values), np.array(errors), ["learned"] * len(labels))
    return Frame((LabelColumn(name, labels), numbers))


def answer(values, errors):
    rows = []
    for name, value, error in zip(NAMES, values, errors, strict=True):
        ends = {} if error is None else {"low": value - error, "high": value + error}
        rows.append({"region": name, "a": {"value": value, "error": error, "source": "learned", **ends}})
    return {"columns": ["region", "a"], "rows": rows}


def amounts(spec):
    return [layer["encoding"]["x"]["scale"]["domain"] for layer in spec["layer"]]


def test_a_number_of_unknown_error_sets_no_scale_and_has_no_bar_but_words():
    spec = plotted(frame(NAMES, [10.0, 20.0, 900.0], [2.0, 3.0, np.inf])).spec
    assert max(high for _, high in amounts(spec)) < 100
    bar, words = spec["layer"][0], spec["layer"][-1]
    assert bar["transform"] == [{"filter": "datum.error !== null"}]
    assert words["mark"]["text"] == "error not known"
    assert words["transform"] == [{"filter": "datum.error === null"}]
    assert words["encoding"]["y"]["sort"] == NAMES
    assert "error not known" in plotted(frame(NAMES, [10.0, 20.0, 900.0], [2.0, 3.0, np.inf])).svg()


def test_where_no_error_is_known_bars_are_drawn_as_they_are():
    spec = plotted(frame(NAMES, [10.0, 20.0, 900.0], [np.inf] * 3)).spec
    assert "transform" not in spec["layer"][0]
    assert amounts(spec)[0][1] >= 900


def test_a_point_of_unknown_error_is_not_joined_to_a_line():
    bins = ["[0, 5)", "[5, 10)", "[10, 15)"]
    spec = plotted(frame(bins, [10.0, 900.0, 20.0], [2.0, np.inf, 3.0], "age")).spec
    assert spec["layer"][1]["transform"] == [{"filter": "datum.place && datum.error !== null"}]
    assert spec["layer"][-1]["mark"]["text"] == "error not known"
    assert spec["layer"][1]["encoding"]["x"]["sort"] == ["0–5", "5–10", "10–15"]


def test_a_pages_bars_are_on_the_scale_of_what_is_known():
    first, second, last = charts.marks(answer([10.0, 20.0, 900.0], [2.0, 3.0, None]), "a")
    assert second.bar[1] > 500  # of 1000: a long bar, which 900 would have made short
    assert last.unknown
    assert not first.unknown
    assert last.bar == (0.0, 0.0)
    assert last.whisker is None
    assert last.words.endswith("error not known")
    assert not any(m.unknown for m in charts.marks(answer([1.0, 2.0, 3.0], [None] * 3), "a"))


def test_bins_of_unequal_width_are_said_to_be_that():
    wide = ["[0, 50)", "[50, 100)", "[100, 1000)"]
    spec = plotted(frame(wide, [1.0, 2.0, 3.0], [1.0] * 3, "cost")).spec
    assert spec["layer"][0]["encoding"]["x"]["axis"]["title"] == "cost (bins of unequal width)"
    assert unequal(["0", "1", "2-9"])
    assert not unequal(["0-4", "5-9", "10-14", "(missing)"])
    assert not unequal(["2020-01", "2020-02", "2021"])
    assert not unequal(["F", "M", "other"])
    rows = [{"cost": w, "n": {"value": 1.0, "error": 1.0, "source": "learned"}} for w in wide]
    assert "not equally wide" in charts.widths({"columns": ["cost", "n"], "rows": rows})
    assert charts.widths(answer([1.0, 2.0, 3.0], [1.0] * 3)) is None
