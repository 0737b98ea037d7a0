"""The report: one page with everything in it and nothing from outside."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.release.report import charts, views
from hedgerow.release.report.pairs import Pairs
from hedgerow.release.report.report import AnsweredQuestion, Report

EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def synopsis():
    domain = hr.Domain(
        {"sex": ["F", "M"], "age": hr.bins(0, 100, 10), EVIL: ["a & b", '"<b>"'], "many": list(range(40))}
    )
    rng = np.random.default_rng(0)
    columns = {"sex": rng.choice(["F", "M"], 500), "age": rng.integers(0, 100, 500)}
    columns |= {EVIL: rng.choice(["a & b", '"<b>"'], 500), "many": rng.integers(0, 40, 500)}
    curator = hr.Curator(hr.Table.open(columns, domain), hr.Budget(epsilon=5, delta=1e-6), ":memory:")
    return hr.GaussianBaseline(epsilon=2).release(curator, hr.marginals(domain, 2))


@pytest.fixture(scope="module")
def page(synopsis) -> str:
    return Report(synopsis, "people <of> the town").html()


def own_markup(page: str) -> str:
    """The page without scripts."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_a_page_refers_to_nothing_outside_itself(page):
    assert not re.search(r"<[^>]*\b(src|href)\s*=|@import|url\(", own_markup(page))
    assert "default-src 'none'" in page


def test_names_and_labels_cannot_become_markup(page):
    assert EVIL not in own_markup(page)
    assert "<of>" not in page
    assert page.count("</script>") == page.count("<script") == 3
    assert "onerror" in page  # as text


def test_all_views_are_on_the_page_with_their_error_bars(page, synopsis):
    data = json.loads(re.search(r'id="views">(.*?)</script>', page, re.S).group(1))
    assert len(data["singles"]) == 4
    assert [p["of"] for p in data["pairs"]] != []
    assert len(data["pairs"]) == 6
    for table in data["pairs"]:
        assert len(table["values"]) == synopsis.domain.cells(table["of"])
        np.testing.assert_allclose(np.reshape(table["values"], synopsis.domain.shape_of(table["of"])),
                                   synopsis.table(table["of"]), atol=0.051)  # fmt: skip
        assert np.min(table["errors"]) > 0
    for spec in data["singles"]:
        assert all(row["low"] < row["count"] < row["high"] for row in spec["data"]["values"])


def test_what_was_spent_is_told_and_a_simulation_is_marked(page):
    text = " ".join(own_markup(page).split())
    assert "NOT PRIVATE" in text
    assert "this release: epsilon 2, delta 1e-6" in text
    assert "left: epsilon" in text
    assert "1 in 1,000,000" in text


def test_questions_show_the_truth_only_when_it_is_given(synopsis):
    from hedgerow.queries.sql.statement import sql

    text = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"
    question = sql(synopsis.domain, text)
    answer = synopsis.answer(question)
    without = own_markup(Report(synopsis, "x", [AnsweredQuestion("How many?", text, answer)]).html())
    assert "How many?" in without
    assert ">true<" not in without
    truth = question.answer(lambda a, w, c, n: (123456.0, 0.0))
    assert "123,456" in own_markup(
        Report(synopsis, "x", [AnsweredQuestion("How many?", text, answer, truth)]).html()
    )


def test_answers_without_tables_still_make_a_page(synopsis):
    domain = hr.Domain({"a": ["x", "y"]})
    curator = hr.Curator(hr.Table.open({"a": ["x", "y", "y"]}, domain), hr.Budget(epsilon=1), ":memory:")
    only = hr.LaplaceBaseline().release(curator, hr.conjunctions(domain, 1)[:])
    assert "fixed list" in own_markup(Report(only, "answers").html())


def test_association_is_high_for_copies_low_for_noise_and_never_outside_0_to_1():
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 50, (8, 8))
    independent = views.View(("a", "b"), np.full((8, 8), 800.0) + noise, np.full((8, 8), 98.0))
    copy = views.View(("a", "b"), np.diag(np.full(8, 6400.0)) + noise, np.full((8, 8), 98.0))
    empty = views.View(("a", "b"), np.full((8, 8), -1.0), np.ones((8, 8)))
    assert independent.association < 0.05
    assert 0.9 < copy.association <= 1.0
    assert empty.association == 0.0


def test_the_script_comes_from_the_installed_package_and_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    charts.vega_script.cache_clear()
    first = charts.vega_script()
    assert "vegaEmbed" in first
    assert "</script" not in first
    charts.vega_script.cache_clear()
    assert charts.vega_script() == first
    assert len(list(tmp_path.rglob("*.js"))) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    charts.vega_script.cache_clear()
    assert charts.vega_script() == first


def test_labels_of_bins_are_read_without_counting_signs():
    from hedgerow.release.report.views import short_labels

    assert short_labels(hr.Bins([0, 1_000_000, 2_500_000])) == ["0–1,000,000", "1,000,000–2,500,000"]
    assert short_labels(hr.Bins([-1_000_000, -0.5, 0.1])) == ["-1,000,000 to -0.5", "-0.5 to 0.1"]


def test_without_scripts_every_attribute_and_the_strongest_pairs_are_there(page, synopsis):
    still = "".join(re.findall(r"<noscript>(.*?)</noscript>", page, re.S))
    assert still.count('<svg class="still"') == 4
    assert still.count('stroke-width="2.5"') == 2 + 10 + 2 + 40  # a whisker for each level
    assert "strongest pairs" in still
    assert still.count('<h3 class="held">') == 4
    assert EVIL not in still
    answer = synopsis.answer("SELECT COUNT(*) FROM t WHERE sex = 'F'")
    assert f"{round(answer.value):,} ± " in still or f"{answer.value:.1f} ± " in still


class Wide:
    """Thirty attributes of 25 levels, of which two are copies; errors that are not needed to be right."""

    def __init__(self) -> None:
        self.domain = hr.Domain({f"c{i:02}": list(range(24)) for i in range(30)} | {"last": list(range(30))})
        self.can = frozenset({"table"})

    def answer(self, asked, confidence):
        (names,) = asked.cliques
        shape = self.domain.shape_of(names)
        values = np.full(shape, 10.0)
        if set(names) == {"c28", "c29"}:
            values = np.diag(np.full(24, 200.0))
        return hr.Answer(
            values.ravel(), np.full(values.size, 0.05 / (1.0 - confidence)), confidence, "measured"
        )


def test_the_strongest_pairs_are_shown_and_all_others_are_marked():
    pairs = Pairs.of(Wide(), 0.95)
    assert pairs.shown[0].attributes == ("c28", "c29")  # smallest first would have left it out
    assert len(pairs.shown) == 12_000 // 576
    assert len(pairs.strengths) == 435  # tables with `last` are too large
    assert pairs.left_out == 465 - len(pairs.shown)
    marks = [row["mark"] for row in charts.associations(pairs)["data"]["values"]]
    assert marks.count("") == 2 * len(pairs.shown)
    assert marks.count("·") == 2 * (435 - len(pairs.shown))
    assert pairs.names[0] in ("c28", "c29")
    assert pairs.names[1] in ("c28", "c29")  # side by side


def test_bars_of_tables_that_were_chosen_are_wider():
    pairs = Pairs.of(Wide(), 0.95)
    assert pairs.confidence == pytest.approx(1 - 0.05 * len(pairs.shown) / 435)
    assert pairs.shown[0].errors.min() == pytest.approx(435 / len(pairs.shown))
    assert pairs.shown[0].association == pytest.approx(1.0, abs=0.2)
