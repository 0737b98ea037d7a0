"""`hr.connect` against a real server: what is asked comes back, with errors, frames and pictures."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

import hedgerow as hr
from services.patience import eventually

pytestmark = pytest.mark.xdist_group("clients")
SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
COLUMNS = ["sex", "n", "n_low", "n_high", "n_source"]


@pytest.fixture
def db(server, token):
    with hr.connect(server.url, token) as client:
        yield client


def test_one_number_is_a_number_groups_are_a_list_and_several_columns_a_dictionary(db):
    one = db.ask("SELECT COUNT(*) FROM people")
    assert one.low <= one.value <= one.high
    assert float(one) == one.value
    groups = db.ask(SQL)
    assert groups.groups == [("F",), ("M",)]
    assert len(groups.value) == len(groups.error) == 2
    both = db.ask("SELECT sex, COUNT(*) AS n, COUNT(*) * 2 AS twice FROM people GROUP BY sex")
    assert list(both.value) == ["n", "twice"]
    assert both.source == "learned"
    assert both.cost is None
    assert not both.cached or both.private


def test_frames_have_errors_in_columns_of_their_own(db):
    answer = db.ask(SQL)
    assert list(answer.to_pandas().columns) == COLUMNS
    assert answer.to_polars().columns == COLUMNS
    assert answer.to_arrow().column_names == COLUMNS
    assert answer.to_pandas()["n"].tolist() == answer.value
    assert [row["sex"] for row in answer] == ["F", "M"]


def test_what_may_cost_says_what_it_did_and_the_same_request_is_free(db):
    sql, before = "SELECT COUNT(*) FROM people WHERE sex = 'F' AND k = 2", db.budget()["remaining"]["epsilon"]
    paid = db.ask(sql, spend=True, within=0.05, request="clients-1")
    assert paid.source in ("measured", "certified")
    assert paid.remaining.epsilon <= before - (0 if paid.cost is None else 1e-9)
    again = db.ask(sql, spend=True, within=0.05, request="clients-1")
    assert again.value == paid.value
    assert again.cached
    assert again.cost is None


def test_values_are_bound_and_never_written_into_the_statement(db):
    sql = "SELECT COUNT(*) FROM people WHERE sex = ?"
    assert db.ask(sql, ["F"]).value == db.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'").value
    with pytest.raises(hr.errors.UnknownLevel):
        db.ask(sql, ["F' OR '1' = '1"])
    with pytest.raises(hr.HedgerowError, match="a list of values"):
        db.ask(sql, "F")
    with pytest.raises(hr.HedgerowError, match="not a object"):
        db.ask(sql, [object()])


def test_everything_else_that_may_be_read(db, tmp_path):
    assert db.datasets() == [{"name": "people", "state": "ready", "may_spend": True}]
    assert db.dataset == "people"
    assert db.explain(SQL)["source"] == "learned"
    assert db.table("sex", "k").groups[0] == ("F", "0")
    assert [a["name"] for a in db.schema()["attributes"]] == ["sex", "k"]
    assert db.budget()["budget"]["epsilon"] == 2
    eventually(db.history)  # the log is written a moment later
    assert db.history()[0]["who"] == "ann"
    assert set(db.sample(20)[0]) == {"sex", "k"}
    assert db.sample(5, to=tmp_path / "rows.parquet").stat().st_size > 100
    assert hr.Synopsis.load(db.synopsis(tmp_path / "s.hedgerow")).answer("SELECT COUNT(*) FROM t").value > 0
    first, second = db.ask_many([SQL, "SELECT COUNT(*) FROM people"])
    assert len(first) == 2
    assert second.value > 0


def test_refusals_have_a_code_a_hint_and_a_place(db, server):
    with pytest.raises(hr.errors.UnknownColumn, match="did you mean 'sex'") as said:
        db.ask("SELECT COUNT(*) FROM people WHERE sax = 'F'")
    assert said.value.code == "unknown_column"
    assert said.value.position[0] == 1
    with pytest.raises(hr.NotPermitted):
        db.job("learn", epsilon=0.1)
    with pytest.raises(hr.errors.NoToken):
        hr.connect(server.url, "hr_0_forged", "people").ask(SQL)
    with pytest.raises(hr.HedgerowError, match="names of its columns"):
        db.table()


def test_who_asks_for_more_than_their_limit_may_put_it_to_the_owner(db):
    waiting = db.ask_owner("SELECT COUNT(*) FROM people WHERE k = 1", "for the yearly report", within=0.02)
    assert waiting["state"] == "waiting"


def test_pictures_say_the_errors_and_escape_what_is_in_the_data(db):
    answer = db.ask(SQL)
    assert "±" in repr(answer)
    assert "meant to hold with 0.95 confidence" in repr(answer)
    assert answer._repr_html_().count("<svg") == 2
    number = {"value": 1.0, "error": None, "source": "learned"}
    odd = type(answer)({"columns": ["<b>", "n"], "rows": [{"<b>": "<script>", "n": number}], "source": "x"})
    assert "<script>" not in odd._repr_html_()
    assert "<b>" not in odd._repr_html_()
    assert "?" in repr(odd)


def test_many_questions_at_once_by_await(server, token):
    async def many():
        async with hr.connect_async(server.url, token) as db:
            asked = (db.ask("SELECT COUNT(*) FROM people WHERE k = ?", [k]) for k in range(3))
            answers = await asyncio.gather(*asked)
            total = await db.ask("SELECT COUNT(*) FROM people")
            return [answer.value for answer in answers], total.value, await db.budget()

    parts, total, budget = asyncio.run(many())
    assert sum(parts) == pytest.approx(total)
    assert budget["budget"]["epsilon"] == 2


def test_it_loads_nothing_that_reads_rows():
    heavy = [
        "numpy",
        "numba",
        "duckdb",
        "pyarrow",
        "sqlglot",
        "pandas",
        "hedgerow.curator",
        "hedgerow.queries",
    ]
    code = "import sys, hedgerow as hr, hedgerow.dbapi; hr.connect('http://x/y', 'hr_1');"
    code += f"print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_asks_a_server_too(server, token, monkeypatch):
    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app

    there = {"HEDGEROW_TOKEN": token}
    done = CliRunner().invoke(app, ["ask", f"{server.url}/people", SQL], env=there)
    assert done.exit_code == 0, done.output
    assert "Asking was free." in done.stdout
    done = CliRunner().invoke(app, ["ask", server.url, SQL, "--json"], env=there)
    assert done.exit_code == 2
    assert "http://HOST/DATASET" in done.stdout


def test_the_shell_talks_to_a_server_too(server, token, tmp_path):
    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app

    there, url = {"HEDGEROW_TOKEN": token}, f"{server.url}/people"
    saved, drawn = tmp_path / "a.csv", tmp_path / "a.svg"
    script = f".schema\n{SQL};\n.save {saved}\n.plot {drawn}\n.explain {SQL};\n.budget\nSELECT nothing;\n"
    done = CliRunner().invoke(app, ["shell", url], input=script, env=there)
    assert done.exit_code == 2, done.output
    for words in ("2 levels", "Asking was free.", "Left to spend: epsilon", "Wrote"):
        assert words in done.stdout
    assert saved.read_text().startswith("sex,n,n_low,n_high,n_source")
    assert drawn.read_text().startswith("<svg")
    dear = "SELECT COUNT(*) FROM people WHERE sex = 'M' AND k = 1"
    done = CliRunner().invoke(app, ["shell", url, "--json"], input=f".within 0.04\n{dear};\n", env=there)
    assert done.exit_code == 3
    done = CliRunner().invoke(app, ["shell", url, "-c", dear, "--json"], env=there)
    assert done.exit_code == 0
    assert '"source": "learned"' in done.stdout
    done = CliRunner().invoke(app, ["shell", server.url, "-c", SQL, "--json"], env=there)
    assert done.exit_code == 2
    assert "http://HOST/DATASET" in done.stdout
