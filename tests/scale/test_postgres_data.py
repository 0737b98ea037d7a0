"""Rows in PostgreSQL at the command line and at a server: their ledger is named, their password is not."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.serve.cli.commands import app
from hedgerow.service import setting_up
from hedgerow.service.address import as_path
from hedgerow.service.asking import Ask
from hedgerow.service.config import Config, DatasetSettings
from hedgerow.service.hosted import Hosted
from hedgerow.service.learning import Learning
from hedgerow.service.tokens import Token
from hedgerow.testing import seeded

pytestmark = pytest.mark.xdist_group("postgres")

SCHEMA = "confirmed: true\nattributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 50]}\n"
SECRET = "correct-horse-9"
COUNT = "SELECT COUNT(*) AS n FROM people WHERE sex = 'F'"


@pytest.fixture
def people(postgres, tmp_path, monkeypatch):
    """A table with 400 rows of 200 people, and its address with a password in it."""
    monkeypatch.chdir(tmp_path)
    Path("schema.yaml").write_text(SCHEMA)
    name = f"people{os.getpid()}"
    postgres.execute(f"DROP TABLE IF EXISTS {name}")
    postgres.execute(
        f"CREATE TABLE {name} AS SELECT i % 200 AS id, CASE WHEN i % 4 = 0 THEN 'F' ELSE 'M' END AS sex, "
        "i % 90 AS age FROM generate_series(0, 399) AS i"
    )
    address = postgres.url().partition("#")[0].replace("hedgerow@", f"hedgerow:{SECRET}@")
    return address, name


def run(*command: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*map(str, command)])
    assert done.exit_code == code, done.output
    assert SECRET not in done.output
    return " ".join(done.output.split())


def told(*command: str) -> dict:
    done = CliRunner().invoke(app, [*map(str, command), "--json"])
    assert done.exit_code == 0, done.output
    assert SECRET not in done.output
    return json.loads(done.stdout)


def test_a_release_and_questions_read_rows_where_they_are(people):
    address, name = people
    where = (address, "--table", name, "--ledger", "rows.hedgerow.db")
    with seeded(1):
        run("release", *where, "--epsilon", "40", "--unit", "id", "--max-rows", "2", "--out", "out")
    found = told("query", "out/synopsis.hedgerow", COUNT)["rows"][0]["n"]
    assert abs(found["value"] - 100) <= 10
    some = f"SELECT sex, age FROM {name} WHERE age < 50"
    with seeded(2):
        part = ("--ledger", "young.hedgerow.db", "--new-ledger", "a part of it, promised by itself")
        run("budget", "init", address, "--query", some, "--epsilon", "60", *part)
        asked = told("ask", address, COUNT, "--query", some, "--ledger", "young.hedgerow.db")
    assert abs(asked["rows"][0]["n"]["value"] - 60) <= 15
    run("describe", *where[:1], "--ledger", "rows.hedgerow.db")
    for file in (f for f in Path().rglob("*") if f.is_file()):
        assert SECRET.encode() not in file.read_bytes(), file


def test_rows_without_a_file_need_a_ledger_that_is_named(people, monkeypatch):
    address, name = people
    assert "--ledger" in run("release", address, "--table", name, "--epsilon", "1", "--out", "o", code=2)
    assert "--ledger" in run("budget", "init", address, "--table", name, "--epsilon", "1", code=2)
    monkeypatch.setenv("HEDGEROW_LEDGER", "named.hedgerow.db")
    run("budget", "init", address, "--table", name, "--epsilon", "1")
    assert Path("named.hedgerow.db").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "with --table, or with --query"),
        (("--table", "x", "--query", "SELECT a FROM x"), "with --table, or with --query"),
        (("--table", "nowhere"), "no table"),
        (("--query", "SELECT sex, age FROM people LIMIT 3"), "LIMIT"),
        (("--table", "NAME", "--unit", "nobody", "--max-rows", "1"), "'nobody'"),
        (("--table", "NAME", "--delimiter", ";"), "CSV"),
    ],
)
def test_what_is_wrong_is_said_without_a_password_and_nothing_is_made(people, options, why):
    address, name = people
    given = [name if option == "NAME" else option for option in options]
    said = run("release", address, *given, "--epsilon", "1", "--ledger", "l.db", "--out", "o", code=2)
    assert why in said
    assert not Path("l.db").exists()


def test_a_database_that_is_not_there_is_named_without_its_password(people):
    gone = f"postgresql://ann:{SECRET}@127.0.0.1:1/stats?password={SECRET}"
    assert "cannot be reached" in run(
        *("release", gone, "--table", "people", "--epsilon", "1", "--ledger", "l.db", "--out", "o"), code=2
    )
    Path("one.csv").write_text("sex,age\nF,3\n")
    assert "in a database" in run("ask", "one.csv", COUNT, "--table", "people", "--epsilon", "1", code=2)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("postgresql:///stats", "postgresql://?dbname=stats"),
        ("postgres:///?service=registry", "postgres://?service=registry"),
        ("postgresql:///stats?user=ann#people", "postgresql://?dbname=stats&user=ann"),
        ("postgresql://ann@db:5433/stats", "postgresql://ann@db:5433/stats"),
    ],
)
def test_an_address_survives_being_a_path(typed, meant):
    from hedgerow.privacy.ledger.url import LedgerUrl

    assert LedgerUrl.of(as_path(typed)).text == meant


def test_a_service_file_and_the_environment_hold_passwords(people, postgres, monkeypatch):
    address, name = people
    host, port = re.search(r"@(.*):(\d+)/", address).groups()
    Path("services.conf").write_text(
        f"[registry]\nhost={host.replace('%2F', '/')}\nport={port}\nuser=hedgerow\ndbname=postgres\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(Path("services.conf").absolute()))
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with seeded(3):
        where = ("postgresql:///?service=registry", "--table", name, "--ledger", "l.hedgerow.db")
        run("release", *where, "--epsilon", "40", "--out", "o")


def test_a_server_reads_rows_of_a_database(people):
    address, name = people
    Path("hedgerow.toml").write_text(
        f'[[dataset]]\nname = "people"\npath = "{address}"\ntable = "{name}"\nledger = "people.hedgerow.db"\n'
        'schema = "schema.yaml"\nepsilon = 60\nunit = "id"\nmax_rows = 2\n'
    )
    config = Config.load(Path("hedgerow.toml")).check()
    assert config.state == Path.cwd() / ".hedgerow"
    hosted = Hosted(config.datasets[0])
    try:
        hosted.reopen()
        assert hosted.state == "unlearned", hosted.words
        hosted.in_lane(lambda: Learning("30").open(hosted.opened.curator).close()).result()
        hosted.reopen()
        assert hosted.state == "ready"
        answer = hosted.free(Ask(COUNT), Token("1", "ann", "analyst")).answer
    finally:
        hosted.close()
    assert abs(answer.value - 100) <= 20  # more than 20 standard deviations of each measured table


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"table": "people"}, "--ledger"),
        ({"ledger": "l.db"}, "with --table, or with --query"),
        ({"ledger": "l.db", "table": "people", "query": "SELECT 1"}, "with --table, or with --query"),
    ],
)
def test_a_configuration_that_does_not_say_which_rows_or_ledger_is_refused(more, why):
    made = DatasetSettings(f"postgresql://ann:{SECRET}@db/stats", epsilon=1, **more)
    with pytest.raises(HedgerowError, match=why) as refused:
        Config(datasets=(made,)).check()
    assert SECRET not in str(refused.value)


def test_what_drafts_a_schema_tells_no_address_of_a_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = f"postgresql://ann:{SECRET}@127.0.0.1:1/stats"
    settings = DatasetSettings(address, table="people", ledger=f"{address}#people")
    hosted = Hosted(settings)
    try:
        for draft in (setting_up.draft, setting_up.proposal):
            with pytest.raises(HedgerowError, match="in a database") as refused:
                draft(hosted)
            assert SECRET not in str(refused.value)
    finally:
        hosted.close()
    assert SECRET not in repr((settings, settings.dataset()))
    with pytest.raises(HedgerowError, match="is a database") as refused:
        hr.Table.open(Path(address), hr.Domain({"sex": ["F", "M"]}))
    assert SECRET not in str(refused.value)
    run("schema", "infer", address, code=2)
    with pytest.raises(HedgerowError, match="%23") as refused:
        LedgerUrl.of(f"postgresql://ann:1#{SECRET}@db/stats")
    assert SECRET not in str(refused.value)


def test_a_second_ledger_of_one_table_is_noticed_in_its_folder_and_made_for_a_reason_only(
    postgres, tmp_path, monkeypatch
):
    """The database says which table it is: neither another user nor a query makes it another one."""
    monkeypatch.chdir(tmp_path)
    Path("schema.yaml").write_text(SCHEMA)
    address, name = postgres.url().partition("#")[0], f"twice{os.getpid()}"
    postgres.execute(f"CREATE TABLE {name} AS SELECT 'F'::text AS sex, 30 AS age")
    domain, budget = hr.Domain({"sex": ["F", "M"]}), hr.Budget(epsilon=1)
    opened = [hr.Table.open(address, domain, table=name)]
    hr.Curator(opened[0], budget, tmp_path / "one.hedgerow.db").ledger.close()
    query = f"SELECT sex FROM {name} WHERE age < 50"
    for source in ({"table": f"public.{name}"}, {"query": query}):
        opened.append(hr.Table.open(address, domain, **source))
        with pytest.raises(HedgerowError, match=r"has a budget already, in the ledger .*one\.hedgerow\.db"):
            hr.Curator(opened[-1], budget, tmp_path / "two.hedgerow.db")
    where = [address, "--table", name, "--ledger", str(tmp_path / "two.hedgerow.db"), "--epsilon", "1"]
    run("budget", "init", *where, code=2)
    run("budget", "init", *where, "--new-ledger", "a second promise, on purpose")
    assert hr.Curator(opened[0], ledger=tmp_path / "one.hedgerow.db").budget == budget
    for table in opened:  # their snapshots keep others from dropping it
        table._engine.close()
