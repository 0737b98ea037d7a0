"""What an owner is shown of a column: exact, private, and every kind that it could be declared as."""

from __future__ import annotations

import hedgerow as hr
from hedgerow.curator.drafting.inspector import Inspector

ROWS = 240


def looked(tmp_path, **columns):
    """Glimpses of a file with these columns."""
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    return Inspector(tmp_path / "rows.csv").propose(look=True).glimpses


def test_values_are_counted_exactly_and_no_repr_holds_them(tmp_path):
    town = ["Harbour"] * 200 + ["Fenland"] * 35 + ["Oddville"] * 3 + [""] * 2
    found = looked(tmp_path, town=town, age=range(ROWS))["town"]
    assert found.common == (("Harbour", 200), ("Fenland", 35), ("Oddville", 3))
    assert (found.different, found.missing) == (3, 2)
    assert "Harbour" not in repr(found)
    assert "200" not in repr(found)


def test_every_reading_is_an_attribute_that_takes_the_column(tmp_path):
    columns = {
        "k": [i % 5 for i in range(ROWS)],
        "serial": [f"{i:05d}" for i in range(ROWS)],
        "price": [f"{i / 7:.2f}" for i in range(ROWS)],
        "day": [f"2021-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(ROWS)],
        "mixed": [i if i % 3 else "none" for i in range(ROWS)],
        "one": ["x"] * ROWS,
    }
    kinds = {}
    for name, glimpse in looked(tmp_path, **columns).items():
        kinds[name] = set(glimpse.readings)
        for attribute in glimpse.readings.values():
            domain = hr.Domain({name: attribute})
            assert Inspector(tmp_path / "rows.csv").fit(domain).rows == ROWS
    assert kinds["k"] == {"levels", "edges"}
    assert "edges" in kinds["price"]
    assert "dates" in kinds["day"]
    assert kinds["one"] == {"levels"}


def test_no_level_is_read_off_too_few_rows(tmp_path):
    """Whatever kind an owner chooses, what a few rows hold is not proposed, only shown."""
    code = ["common"] * 60 + [f"rare{i // 2}" for i in range(ROWS - 60)]
    found = looked(tmp_path, code=code)["code"]
    assert found.readings["levels"].labels == ("common", "other")
    assert looked(tmp_path, id=[f"U{i}" for i in range(ROWS)], k=[0] * ROWS)["id"].readings == {}


def test_nothing_is_shown_unless_it_is_asked_for(tmp_path):
    looked(tmp_path, k=[0, 1] * 30)
    assert Inspector(tmp_path / "rows.csv").propose().glimpses == {}
