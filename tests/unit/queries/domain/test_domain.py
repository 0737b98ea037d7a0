"""Domains: declared levels, total encoding, schemas that read back as they were."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr

ANYTHING = st.one_of(
    st.none(), st.text(max_size=8), st.integers(), st.floats(), st.booleans(), st.dates(), st.just("")
)
ATTRIBUTES = [
    hr.Categorical(["F", "M"]),
    hr.Categorical(range(5), other=True),
    hr.Categorical(["", "a"], missing=True),
    hr.bins(0, 100, 7),
    hr.bins(-1, 1, 0.25, other=True, missing=True),
    hr.bins(-3, 100, 6, whole=True, missing=True),
    hr.dates("2020-01-15", "2021-03-02", by="month", missing=True),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: a.describe())
@given(values=st.lists(ANYTHING, max_size=20))
def test_encoding_is_total_and_in_range(attribute, values):
    codes = attribute.encode(values)
    assert codes.shape == (len(values),)
    assert ((codes >= 0) & (codes < attribute.size)).all()


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: a.describe())
def test_decoding_then_encoding_is_the_identity_on_proper_levels(attribute):
    codes = np.arange(len(attribute.values))
    np.testing.assert_array_equal(attribute.encode(list(attribute.decode(codes))), codes)


@pytest.mark.parametrize(
    ("attribute", "value", "label"),
    [
        (hr.Categorical(["a", "b"]), "zzz", "b"),
        (hr.Categorical(["a", "b"]), None, "b"),
        (hr.Categorical(["a", "b"], missing=True), "zzz", "(missing)"),
        (hr.Categorical(["a", "b"], other=True), None, "other"),
        (hr.Categorical(["a", "b"], other="elsewhere", missing=True), "zzz", "elsewhere"),
        (hr.Categorical(["a", "b"], other=True, missing=True), "", "(missing)"),
        (hr.Categorical(["", "b"], missing=True), "", ""),
        (hr.Categorical([1, 2]), 2.0, "2"),
        (hr.Categorical([True, False]), True, "true"),
        (hr.bins(0, 10, 5), -3, "[0, 5)"),
        (hr.bins(0, 10, 5), 5, "[5, 10]"),
        (hr.bins(0, 10, 5), 10, "[5, 10]"),
        (hr.bins(0, 10, 5), float("inf"), "[5, 10]"),
        (hr.bins(0, 10, 5, other=True), 11, "other"),
        (hr.bins(0, 10, 5, missing=True), float("nan"), "(missing)"),
        (hr.bins(0, 10, 5, missing=True), "4.5", "[0, 5)"),
        (hr.bins(0, 10, 5, missing=True), "four", "(missing)"),
        (hr.dates("2024-01-01", "2025-01-01", by="quarter"), dt.date(2024, 5, 1), "2024-Q2"),
        (hr.dates("2024-01-01", "2025-01-01", by="quarter", missing=True), "2024-13-01", "(missing)"),
        (hr.dates("2024-01-01", "2025-01-01", by="year"), "1999-01-01", "2024"),
        (hr.dates("2024-01-01", "2024-01-20", by="week"), "2024-01-15T08:00:00", "week of 2024-01-15"),
    ],
)
def test_each_value_goes_where_the_rule_says(attribute, value, label):
    assert attribute.labels[int(attribute.encode([value])[0])] == label


def test_every_container_gives_the_same_codes():
    attribute = hr.Categorical(["F", "M"], other=True, missing=True)
    column = ["F", None, "M", "x", ""]
    expected = [0, 3, 1, 2, 3]
    for values in (
        column,
        np.array(column, dtype=object),
        pd.Series(column),
        pd.Series(column, dtype="category"),
        __import__("polars").Series(column),
        __import__("pyarrow").array(column),
        __import__("pyarrow").array(column).dictionary_encode(),
    ):
        assert attribute.encode(values).tolist() == expected


def test_hierarchies_group_levels_and_name_the_rest():
    codes = hr.Categorical(
        ["I10", "I21", "J45", "Z00"],
        hierarchy={"chapter": {"circulatory": ["I10", "I21"], "respiratory": ["J45"]}},
    )
    names, parent = codes.groups("chapter")
    assert names == ("circulatory", "respiratory", "other")
    assert parent.tolist() == [0, 0, 1, 2]
    with pytest.raises(hr.DomainMismatch, match="two groups"):
        hr.Categorical(["a"], hierarchy={"h": {"x": ["a"], "y": ["a"]}})


def full_domain() -> hr.Domain:
    return hr.Domain(
        {
            "sex": ["F", "M"],
            "age": hr.bins(0, 100, 5, missing=True),
            "money": {"edges": [0, 0.5, 2, 100], "other": True},
            "när ö": hr.dates("2020-01-01", "2022-01-01", by="quarter"),
            "diagnosis": {
                "levels": ["I10", "J45"],
                "other": "rare",
                "hierarchy": {"chapter": {"I": ["I10"]}},
            },
            "select": 4,
            "visits": hr.bins(0, 10, 2, whole=True),
        }
    )


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_saved_schema_reads_back_as_the_same_domain(tmp_path, suffix):
    domain = full_domain()
    path = tmp_path / f"schema.{suffix}"
    domain.save(path)
    again = hr.Domain.load(path)
    assert again == domain
    assert again.fingerprint == domain.fingerprint
    assert again.shape == (2, 21, 4, 8, 3, 4, 5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sex: [F, M", "malformed near line"),
        ("- a\n- b", "mapping of attribute names"),
        ("", "mapping of attribute names"),
        ("attributes: {}", "at least one attribute"),
        ("sex: {levels: [F, F]}", "'sex': the level 'F' is declared twice"),
        ("age: {bins: [0, 10, -1]}", "'age'"),
        ("age: {edges: [3, 2]}", "'age': bins need"),
        ("age: {edges: [a, b]}", "'age'"),
        ("when: {dates: {start: soon, stop: 2024-01-01}}", "'when': 'soon' is not a date"),
        ("sex: {levels: [F], colour: red}", "does not know the option 'colour'"),
        ("age: {binss: [0, 10, 1]}", "'age': does not know the option 'binss'; did you mean 'bins'"),
        (
            "confirmd: false\nattributes: {sex: [F]}",
            "no 'confirmd' beside `attributes`; .* 'confirmed'",
        ),
        ("ill: [yes, no]", 'bare yes in line 1, .*quotes \\("yes"\\)'),
        ("ill:\n  levels:\n  - true\n  - No", "bare No in line 4"),
        ("a: {levels: [x], hierarchy: {h: {off: [x]}}}", "bare off in line 1"),
        ("age: {bins: [0, 1, 0.25], whole: true}", "'age': a bin of `whole` numbers holds none"),
        ("age: {bins: [0, 9, 1], whole: 1}", "'age': `whole` is true or false"),
        ("sex: {levels: [F], whole: true}", "'sex': has `whole`, which is for"),
        ("when: {dates: {start: 2024-01-01, stop: 2025-01-01}, whole: true}", "'when': has `whole`"),
        ("sex: {}", "exactly one of"),
        ("sex: 0", "at least one level"),
        ("sex: [F, M]\nage: 3\nsex: [M, F]", "'sex' twice"),
        ("attributes:\n  sex: {levels: [F, M], levels: [F]}", "'levels' twice"),
        ("a: &a [*a]", "'a': a level is a text"),
        ("a: [x, null]", "'a': a level is a text"),
        ("a: [1, .nan]", "'a': a level is a text"),
        ("a: [[1, 2], [3]]", "'a': a level is a text"),
        ("a: " + "[" * 3000, "malformed|deeply"),
        ("sex: null", "declared by a list"),
    ],
)
def test_a_broken_schema_is_one_sentence_naming_the_place(tmp_path, text, sentence):
    path = tmp_path / "schema.yaml"
    path.write_text(text)
    with pytest.raises(hr.DomainMismatch, match=sentence) as caught:
        hr.Domain.load(path)
    assert "\n" not in str(caught.value)


def test_truth_values_spelled_true_and_false_and_words_in_quotes_are_levels(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("a: [true, false]\nb: {levels: ['yes', \"no\"], missing: yes}\nconfirmed: yes\n")
    domain = hr.Domain.load(path)
    assert [domain[n].labels for n in domain] == [("true", "false"), ("yes", "no", "(missing)")]


def test_bins_of_whole_numbers_are_worth_the_mean_of_what_they_hold():
    for edges in ([0, 1, 2, 7], [-3, 0, 5, 10, 12], [-0.5, 0.5, 4.2, 9.9]):
        attribute = hr.Bins(edges, whole=True)
        numbers = np.arange(
            np.ceil(edges[0]), np.ceil(edges[-1])
        )  # the last bin is half-open like the others
        codes = attribute.encode(numbers)
        assert codes.tolist() == hr.Bins(edges).encode(numbers).tolist()
        held = [numbers[codes == c] for c in range(attribute.size)]
        assert attribute.values == tuple(float(h.mean()) for h in held)
        assert attribute.reach == max(np.abs(h - h.mean()).max() for h in held)
        decoded = attribute.decode(range(attribute.size)).tolist()
        assert all(type(v) is int and v in h for v, h in zip(decoded, held, strict=True))
        assert [attribute.code(v) for v in decoded] == list(range(attribute.size))


def test_bins_that_are_not_marked_whole_keep_their_fingerprint():
    plain, marked = hr.Domain({"n": hr.bins(0, 4, 2)}), hr.Domain({"n": hr.bins(0, 4, 2, whole=True)})
    assert plain.to_schema() == {"attributes": {"n": {"edges": [0, 2, 4]}}}
    assert plain.fingerprint == "102630bf9bc2d2e07be65586d41600d70c33d18f89e599ebd6964e27c68eb4e3"
    assert marked.fingerprint != plain.fingerprint
    assert plain == hr.Domain({"n": {"bins": [0, 4, 2], "whole": False}})


def test_a_function_is_a_condition_that_levels_without_a_value_never_meet():
    domain = hr.Domain({"age": hr.bins(0, 60, 30, other=True, missing=True), "sex": ["F", "M"]})
    query = hr.Query.where(domain, {"age": lambda a: a >= 30, "sex": lambda s: s == "F"})
    assert query.weights[:, 0].tolist() == [0, hr.queries.query.ONE, 0, 0]
    assert hr.Query.where(domain, {"age": None}).weights.tolist() == [0, 0, 0, hr.queries.query.ONE]


def test_a_name_twice_in_a_json_schema_is_one_sentence(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text('{"sex": ["F", "M"], "sex": 3}')
    with pytest.raises(hr.DomainMismatch, match="'sex' twice"):
        hr.Domain.load(path)


def test_a_missing_schema_file_is_one_sentence(tmp_path):
    with pytest.raises(hr.DomainMismatch, match="no schema file"):
        hr.Domain.load(tmp_path / "none.yaml")


def test_an_unknown_attribute_comes_with_a_hint():
    with pytest.raises(hr.DomainMismatch, match="did you mean 'diagnosis'"):
        full_domain()["diagnosys"]


def test_domain_size_is_exact_beyond_machine_words():
    assert hr.Domain({f"a{i}": 100 for i in range(30)}).size == 100**30


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: hr.bins(0, 1e12, 1), "10,000,000 bins at most"),
        (lambda: hr.bins(0, float("inf"), 5), "10,000,000 bins at most"),
        (lambda: hr.Categorical(["a", "(missing)"], missing=True), "as the level for missing values is"),
        (lambda: hr.Categorical(["a"], missing="maybe"), "`missing` is true or false"),
        (lambda: hr.Categorical(["a"], other=3), "`other` is true, false or the level's name"),
        (lambda: hr.Categorical(["a"], hierarchy=[1]), "`hierarchy` is a mapping of views"),
    ],
)
def test_an_attribute_that_cannot_be_is_one_sentence(make, sentence):
    with pytest.raises(hr.errors.DomainMismatch, match=sentence):
        make()
