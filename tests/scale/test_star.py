"""Several tables: facts, tables about units and public tables, joined in the room on the unit's own key."""

from __future__ import annotations

from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.errors import DomainMismatch, SourceError
from hedgerow.testing import seeded
from sizes import size

DOMAIN = hr.Domain({"ward": ["a", "b"], "sex": ["F", "M", "none"], "chapter": ["heart", "lung", "none"]})
ALL = ("ward", "sex", "chapter")
CODES = pa.table({"code": ["I10", "I21", "J45"], "chapter": ["heart", "heart", "lung"]})


def facts_of(visits: list[tuple[int | None, str, str]]) -> pa.Table:
    who, ward, code = ([v[i] for v in visits] for i in range(3))
    return pa.table(
        {
            "person": pa.array(who, pa.int64()),
            "ward": pa.array(ward, pa.string()),
            "icd": pa.array(code, pa.string()),
        }
    )


def people_of(people: list[tuple[int, str]]) -> pa.Table:
    return pa.table(
        {
            "person": pa.array([p for p, _ in people], pa.int64()),
            "sex": pa.array([s for _, s in people], pa.string()),
        }
    )


def star(facts, people, codes=CODES) -> hr.StarEngine:
    return hr.StarEngine(
        facts,
        "person",
        [
            hr.JoinedTable("people", people, "person", "person"),
            hr.JoinedTable("codes", codes, "code", "icd", public=True),
        ],
    )


def counts(facts, people, max_rows=3, key=bytes(32)) -> np.ndarray:
    """Exact counts after joining and bounding: tests may look into the room."""
    domain = hr.Domain({name: {"levels": list(a.values), "other": True} for name, a in DOMAIN.items()})
    table = hr.Table.open(star(facts, people), domain, unit="person", max_rows=max_rows)
    return Rows(table, key).tables([ALL])[ALL]


def made_up(random: Random):
    visits = [
        (random.choice([None, 1, 2, 3, 4, 5]), random.choice("ab"), random.choice(["I10", "I21", "J45", "?"]))
        for _ in range(random.randint(0, 25))
    ]
    return visits, [(p, random.choice("FM")) for p in random.sample(range(1, 7), random.randint(0, 6))]


def test_duckdbs_own_join_gives_the_same_exact_counts():
    random = Random(2)
    for _ in range(size(15, 200)):
        visits, known = made_up(random)
        facts, people, codes = facts_of(visits), people_of(known), CODES
        found = counts(facts, people, max_rows=100)
        with duckdb.connect() as connection:
            for name, table in (("facts", facts), ("people", people), ("codes", codes)):
                connection.register(name, table)
            joined = connection.execute(
                "SELECT ward, sex, chapter FROM facts LEFT JOIN people USING (person) "
                "LEFT JOIN codes ON facts.icd = codes.code WHERE person IS NOT NULL"
            ).fetchall()
        levels = [[*a.values, None] for a in DOMAIN.values()]
        expected = np.zeros(found.shape, dtype=np.int64)
        for row in joined:
            place = tuple(
                levels[i].index(value) if value in levels[i][:-1] else found.shape[i] - 1
                for i, value in enumerate(row)
            )
            expected[place] += 1
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("moved", ["facts", "people", "both"])
def test_a_person_moved_in_any_private_table_changes_counts_by_no_more_than_claimed(moved):
    """Adding a person moves at most max_rows rows; another row about them moves theirs and nobody else's."""
    random = Random(moved)
    for _ in range(size(25, 400)):
        visits, known = made_up(random)
        k, one = random.choice((1, 2, 3)), random.randint(1, 6)
        other_visits = [v for v in visits if v[0] != one] if moved in ("facts", "both") else visits
        other_known = [p for p in known if p[0] != one] if moved in ("people", "both") else known
        if moved == "people":
            other_known += [(one, random.choice("FM"))] * random.randint(0, 2)
        here, there = (
            counts(facts_of(v), people_of(p), k) for v, p in ((visits, known), (other_visits, other_known))
        )
        difference = here - there
        assert difference.clip(min=0).sum() <= k
        assert (-difference).clip(min=0).sum() <= (0 if moved in ("facts", "both") else k)


def test_of_several_rows_about_a_unit_one_is_used_whatever_their_order():
    facts = facts_of([(1, "a", "I10")])
    one, two = people_of([(1, "M"), (1, "F")]), people_of([(1, "F"), (1, "M")])
    assert np.array_equal(counts(facts, one), counts(facts, two))
    assert counts(facts, one).sum() == 1


def test_a_private_table_is_joined_on_the_units_own_key_only():
    doctors = hr.JoinedTable("doctors", {"doctor": [1], "age": [50]}, "doctor", "doctor")
    with pytest.raises(DomainMismatch, match="only 'person' is protected"):
        hr.StarEngine({"person": [1], "doctor": [1]}, "person", [doctors])
    with pytest.raises(DomainMismatch, match="no unit is declared"):
        hr.StarEngine({"person": [1], "doctor": [1]}, None, [doctors])


def test_public_tables_have_unique_keys_and_columns_one_name():
    codes = pa.table({"code": ["I10", "I10"], "chapter": ["heart", "lung"]})
    engine = star(facts_of([]), people_of([]), codes)
    with pytest.raises(SourceError, match="a key in more than one row"):
        engine.check(["ward", "chapter"])
    twice = pa.table({"code": ["I10"], "ward": ["a"]})
    with pytest.raises(DomainMismatch, match="'ward' is in 'codes' and elsewhere"):
        star(facts_of([]), people_of([]), twice)


def test_a_star_in_the_schema_file_is_joined_for_every_command(tmp_path, monkeypatch):
    import json

    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(
        "person,ward,icd\n" + "".join(f"{i % 40},{'ab'[i % 2]},I10\n" for i in range(200))
    )
    (tmp_path / "people.csv").write_text("person,sex\n" + "".join(f"{i},{'FM'[i % 2]}\n" for i in range(40)))
    (tmp_path / "codes.csv").write_text("code,chapter\nI10,heart\nJ45,lung\n")
    (tmp_path / "schema.yaml").write_text(
        "confirmed: true\nattributes:\n  ward: [a, b]\n  sex: [F, M]\n  chapter: [heart, lung]\ntables:\n"
        "  people: {file: people.csv, key: person}\n"
        "  codes: {file: codes.csv, key: code, column: icd, public: true}\n"
    )
    command = [
        "release",
        "visits.csv",
        "--epsilon",
        "50",
        "--unit",
        "person",
        "--max-rows",
        "5",
        "--out",
        "out",
    ]
    with seeded(1):
        done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    sql = "SELECT sex, COUNT(*) AS n FROM t WHERE chapter = 'heart' GROUP BY sex"
    told = json.loads(CliRunner().invoke(app, ["query", "out/synopsis.hedgerow", sql, "--json"]).stdout)
    assert [round(row["n"]["value"] / 20) for row in told["rows"]] == [5, 5]
    joined = (
        "SELECT p.sex, COUNT(*) AS n FROM visits v LEFT JOIN people p ON v.person = p.person "
        "LEFT JOIN codes c ON v.icd = c.code WHERE c.chapter = 'heart' GROUP BY p.sex"
    )
    same = json.loads(CliRunner().invoke(app, ["query", "out/synopsis.hedgerow", joined, "--json"]).stdout)
    assert same["rows"] == told["rows"]


def test_tables_joined_for_one_unit_are_not_read_for_another():
    """A row about a doctor would be in the rows of many persons, who would be the only ones protected."""
    doctors = hr.JoinedTable("doctors", {"doctor": [9], "sex": ["F"]}, "doctor", "doctor")
    domain, visits = hr.Domain({"sex": ["F", "M"]}), {"person": [1, 2], "doctor": [9, 9]}
    joined = hr.StarEngine(visits, "doctor", [doctors])
    with pytest.raises(DomainMismatch, match="joined for unit='doctor'"):
        hr.Table.open(joined, domain, unit="person", max_rows=1)
    with pytest.raises(DomainMismatch, match="opened with no unit"):
        hr.Table.open(joined, domain)
    with pytest.raises(DomainMismatch, match="joined for unit='doctor'"):
        hr.StarEngine(joined, "person", [])
    with pytest.raises(DomainMismatch, match="joined already"):
        hr.StarEngine(visits, "person", [hr.JoinedTable("more", joined, "person", "person")])
    hr.Table.open(joined, domain, unit="doctor", max_rows=1)


def test_a_schema_that_joins_tables_is_checked_against_all_of_them(tmp_path, monkeypatch):
    import json
    from pathlib import Path

    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app

    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("person,ward,icd\n1,a,I10\n1,b,J45\n2,a,I10\n3,c,X99\n")
    Path("patients.csv").write_text("person,sex\n1,F\n2,M\n")
    Path("codes.csv").write_text("code,chapter\nI10,heart\nJ45,lung\n")
    Path("schema.yaml").write_text(
        "confirmed: false\nattributes:\n  ward: [a, b]\n  sex: [F, M]\n  chapter: [heart, lung]\ntables:\n"
        "  patients: {file: patients.csv, key: person}\n"
        "  codes: {file: codes.csv, key: code, column: icd, public: true}\n"
    )

    def check(*more):
        return CliRunner().invoke(app, ["schema", "check", "schema.yaml", "visits.csv", "--json", *more])

    found = check("--unit", "person", "--confirm")
    assert found.exit_code == 0, found.output
    counted = json.loads(found.stdout)["PRIVATE_for_the_owner"]
    assert counted["outside"] == {"ward": 1, "sex": 0, "chapter": 0}
    assert counted["missing"] == {"ward": 0, "sex": 1, "chapter": 1}  # the third has neither patient nor code
    assert "confirmed: true" in Path("schema.yaml").read_text()
    assert check().exit_code == 2  # patients are private, and are about nobody who was named


def folder_with(folder, cell: str, *widths: pa.DataType):
    """Two files of people, one of whom is described by a cell; with dictionaries, as pandas writes them."""
    folder.mkdir()
    for first, sexes, width in zip((0, 2), (["F", "M"], ["F", cell]), widths, strict=True):
        who = pa.array([first, first + 1], width)
        people = pa.table({"person": who, "sex": pa.array(sexes).dictionary_encode()})
        pq.write_table(people, folder / f"{first}.parquet")
    return str(folder)


def coded_by(cell: bytes) -> pa.Table:
    """The same in memory, where a level that is no text cannot be read."""
    levels = (pa.array([b"F", b"M"]), pa.array([b"F", cell]))
    codes = pa.array([0, 1], pa.int8())
    sexes = [pa.DictionaryArray.from_arrays(codes, some.view(pa.string())) for some in levels]
    return pa.table({"person": pa.array([0, 1, 2, 3]), "sex": pa.chunked_array(sexes)})


@pytest.mark.parametrize("source", ["folder", "memory"])
def test_what_one_cell_about_a_person_holds_is_that_persons_matter(tmp_path, source):
    facts = facts_of([(0, "a", "I10"), (1, "a", "I10"), (2, "b", "J45"), (3, "b", "J45")])
    whole = pa.int64(), pa.int64()
    people = {
        "folder": lambda odd: folder_with(tmp_path / f"people{odd}", "\ufffd!" if odd else "M", *whole),
        "memory": lambda odd: coded_by(b"\xff" if odd else b"M"),
    }[source]
    plain, odd = (counts(facts, people(one)).sum(axis=(0, 2)).tolist() for one in (False, True))
    assert plain[:2] == [2, 2]
    assert odd[:2] == [2, 1]
    assert sum(odd) == sum(plain) == 4


def test_files_about_people_may_have_integers_of_different_width(tmp_path):
    facts = facts_of([(i, "a", "I10") for i in range(4)])
    people = folder_with(tmp_path / "people", "M", pa.int32(), pa.int64())
    assert counts(facts, people).sum(axis=(0, 2)).tolist()[:2] == [2, 2]


def test_levels_that_do_not_fit_into_one_dictionary_are_joined_all_the_same():
    def some(first: int) -> pa.DictionaryArray:
        levels = pa.array(["F", *(f"{first} {i}" for i in range(99))])
        return pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), levels)

    people = pa.table({"person": pa.array(range(200)), "sex": pa.chunked_array([some(0), some(1)])})
    facts = facts_of([(i, "a", "I10") for i in range(200)])
    assert counts(facts, people)[0, 0].sum() == 2
