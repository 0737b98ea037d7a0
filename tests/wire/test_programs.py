"""Programs that are no Python, at a real server: pgjdbc through Java, DBI through R, psql."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from services import lacks, program, said
from services.patience import eventually

pytestmark = pytest.mark.xdist_group("wire")
PROGRAMS = Path(__file__).parent / "programs"
JAR = Path("/usr/share/java/postgresql.jar")
SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex"


@pytest.fixture
def environment(place, tool):
    """What libpq's programs read."""
    return lambda name: {
        "PGHOST": place[0], "PGPORT": str(place[1]), "PGUSER": name, "PGPASSWORD": tool(name),
        "PGDATABASE": "people", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
    }  # fmt: skip


def lines(command, environment):
    """What a program printed: words after a name and a tab."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return {
        name: rest.strip() for name, _, rest in (line.partition("\t") for line in done.stdout.splitlines())
    }


def test_pgjdbc_walks_the_catalogue_and_asks(place, environment):
    java = program("java", package="openjdk-17-jdk-headless")
    if not JAR.exists():
        lacks("pgjdbc is not here: `make system` as root, or apt-get install libpostgresql-jdbc-java")
    source = PROGRAMS / "WalkMetaData.java"
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
    url = f"jdbc:postgresql://{place[0]}:{place[1]}/people"
    told = lines([java, *quick, "-cp", str(JAR), str(source), url, "pgjdbc"], environment("pgjdbc"))
    assert {name: words for name, words in told.items() if words.startswith(("ERROR", "FAILED"))} == {
        "error": "ERROR 42703 ERROR: There is no column 'nothing'; there is 'sex', 'k', 'age', 'day'.",
        "writing": "ERROR 25006 ERROR: Nothing is written here: ask with SELECT.",
        "cancel": "ERROR 57014 ERROR: Cancelled as asked; what was charged stays charged.",
    }
    none = "primary keys,imported keys,exported keys,cross references,indexes,best row,functions,user types"
    for name in f"{none},function columns,procedures,procedure columns".split(","):
        assert told[name] == "[]", name
    assert told["product"] == "PostgreSQL 15"
    assert told["catalogs"] == told["tables"] == "[people]"
    assert told["schemas of one"] == "[public]"
    assert told["column names"] == "[sex, k, age, day]"
    assert told["type names"] == "[text, text, int8, date]"
    assert told["table rights"] == "[null|public|people|owner|PUBLIC|SELECT|NO]"
    assert told["group"] == "[F, M]"
    assert told["result columns"] == "sex text count int8"
    assert told["parameters"] == told["types"] == told["keywords"] == told["all tables"] == "true"
    assert told["preview"] == "200"
    assert told["fetched in parts"] == "2"
    assert told["after"] == "1"
    assert told["alive"] == "true public people"


def test_r_asks_with_dbi(environment):
    rscript = program("Rscript", package="r-cran-rpostgresql")
    known = subprocess.run([rscript, "-e", "library(RPostgreSQL)"], capture_output=True)
    if known.returncode:
        lacks("RPostgreSQL is not here: `make system` as root, or apt-get install r-cran-rpostgresql")
    told = lines([rscript, str(PROGRAMS / "ask.R")], environment("r"))
    assert told["tables"] == "people"
    assert told["exists"] == "TRUE"
    assert told["fields"] == "sex k age day"
    assert told["group"] == "F M"
    assert told["within"] == "TRUE"
    assert told["classes"] == "character numeric numeric numeric"
    assert told["rows"] == "20"
    assert told["some"] == "2 1"
    assert told["parameters"] == "1"
    assert told["error"] == told["everything"] == "refused"


def test_the_example_in_r_runs(environment):
    rscript = program("Rscript", package="r-cran-rpostgresql")
    script = Path(__file__).parents[2] / "examples" / "ask_a_server.R"
    done = subprocess.run([rscript, str(script)], env=environment("r"), capture_output=True, text=True)
    if "there is no package" in done.stderr:
        lacks("RPostgreSQL is not here: `make system` as root, or apt-get install r-cran-rpostgresql")
    assert done.returncode == 0, done.stderr
    assert '"sex" "k"   "age" "day"' in done.stdout
    assert len(done.stdout.splitlines()) == 5


def test_psql(server, environment):
    psql = program("psql", package="postgresql-client")
    script = [r"\dt", r"\d people", r"\d+ people", r"\l", r"\dn", r"\du", r"\df", r"\dv", r"\di", r"\dp",
              r"\conninfo", SQL, rf"\copy ({SQL}) TO STDOUT CSV", "SELECT 1; SELECT 2",
              f"EXPLAIN {SQL}"]  # fmt: skip
    words = [word for line in script for word in ("-c", line)]
    done = subprocess.run(
        [psql, "-X", "-A", "-t", *words], env=environment("psql"), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for seen in ("public|people|table|owner", "sex|text||not null", "age|bigint||", "F|", "F,", "learned"):
        assert seen in done.stdout, (seen, done.stdout)
    wrong = subprocess.run([psql, "-X", "-c", "SELECT nothing FROM people GROUP BY 1"],
                           env=environment("psql"), capture_output=True, text=True)  # fmt: skip
    assert wrong.returncode == 1
    assert "There is no column 'nothing'" in wrong.stderr
    assert "^" in wrong.stderr


def test_psql_is_cancelled_by_control_c(server, environment):
    psql = program("psql", package="postgresql-client")
    nap = "SELECT pg_sleep(20.25)"
    asking = subprocess.Popen(
        [psql, "-X", "-c", nap], env=environment("psql"), stderr=subprocess.PIPE, text=True
    )
    eventually(lambda: any(line["sql"] == nap for line in said.heard(server.folder / "stderr.txt")))

    def ended():
        asking.send_signal(signal.SIGINT)
        return asking.poll() is not None

    eventually(ended)
    assert "Cancelled as asked" in asking.communicate()[1]
