"""SQLAlchemy's dialect: engine, inspector, statements, pool, pandas and polars on top of it."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

registry.register("hedgerow", "hedgerow.client.alchemy", "HedgerowDialect")  # as its entry point does
pytestmark = pytest.mark.xdist_group("clients")
SQL = "SELECT k, COUNT(*) AS n FROM people GROUP BY k"


@pytest.fixture
def url(server, token):
    return f"hedgerow://:{token}@{server.url.split('//')[1]}/people"


@pytest.fixture
def engine(url):
    made = sa.create_engine(f"{url}?tls=off", pool_pre_ping=True)
    yield made
    made.dispose()


@pytest.fixture
def people(engine):
    return sa.Table("people", sa.MetaData(), autoload_with=engine)


def test_the_entry_point_is_declared():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    named = {"hedgerow": "hedgerow.client.alchemy:HedgerowDialect"}
    assert project["entry-points"]["sqlalchemy.dialects"] == named


def test_the_inspector_sees_the_declared_schema(engine):
    seen = sa.inspect(engine)
    assert seen.get_schema_names() == ["public"]
    assert seen.get_table_names() == ["people"]
    assert seen.get_view_names() == []
    assert seen.has_table("people")
    assert not seen.has_table("others")
    assert [c["name"] for c in seen.get_columns("people")] == ["sex", "k"]
    assert seen.get_pk_constraint("people")["constrained_columns"] == []
    for kind in ("foreign_keys", "indexes", "unique_constraints", "check_constraints"):
        assert getattr(seen, f"get_{kind}")("people") == []
    assert "private rows" in seen.get_table_comment("people")["text"]
    with pytest.raises(sa.exc.NoSuchTableError):
        seen.get_columns("others")


def test_statements_that_it_writes_are_answered(engine, people):
    count = sa.func.count().label("n")
    asked = sa.select(people.c.sex, count).where(people.c.k.in_(["1", "2"])).group_by(people.c.sex)
    with engine.connect() as connection:
        rows = connection.execute(asked.order_by(sa.desc("n")).limit(1)).all()
        assert len(rows) == 1
        assert connection.execute(asked.order_by("sex").limit(1).offset(1)).one().sex == "M"
        total = connection.execute(sa.select(sa.func.count()).select_from(people)).scalar()
        by_text = sa.text("SELECT COUNT(*) FROM people WHERE sex = :sex")
        assert 0 < connection.execute(by_text, {"sex": "F"}).scalar() < total
        rare = asked.having(sa.func.count() > 10**6)
        assert connection.execute(rare).all() == []


def test_pandas_and_polars_read_through_it(engine):
    frame = pd.read_sql(SQL, engine)
    assert list(frame.columns) == ["k", "n"]
    assert len(frame) == 3
    assert pl.read_database(SQL, engine).shape == (3, 2)
    with engine.connect() as connection:
        asked = sa.text("SELECT sex, COUNT(*) AS n FROM people WHERE k = :k GROUP BY sex")
        assert len(pd.read_sql(asked, connection, params={"k": "1"})) == 2


def test_refusals_come_as_errors_of_sqlalchemy(engine):
    with engine.connect() as connection:
        with pytest.raises(sa.exc.DataError):
            connection.execute(sa.text("SELECT COUNT(*) FROM people WHERE sex = 'X'"))
        with pytest.raises(sa.exc.NotSupportedError):
            connection.execute(sa.text("DROP TABLE people"))
        connection.rollback()
        assert connection.execute(sa.text("SELECT COUNT(*) FROM people")).scalar() > 0


def test_the_address_says_what_may_be_spent(url):
    engine = sa.create_engine(f"{url}?spend=on&within=0.05&max_epsilon=0.3&errors=on")
    with engine.connect() as connection:
        row = connection.execute(
            sa.text("SELECT COUNT(*) AS n FROM people WHERE k = '2' AND sex = 'M'")
        ).one()
    assert row.n_low <= row.n <= row.n_high
    for wrong in ("spend=maybe", "within=much", "colour=red"):
        with pytest.raises(sa.exc.ArgumentError):
            sa.create_engine(f"{url}?{wrong}").connect()


def test_a_pool_survives_a_server_that_comes_back(server, engine):
    with engine.connect() as connection:
        connection.execute(sa.text(SQL)).all()
    with engine.connect() as connection:  # from the pool, seen alive before it is handed out
        assert len(connection.execute(sa.text(SQL)).all()) == 3
    lost = sa.create_engine("hedgerow://:hr_0_x@127.0.0.1:9/people")
    with pytest.raises((sa.exc.OperationalError, sa.exc.DBAPIError)), lost.connect() as connection:
        connection.execute(sa.text(SQL))
