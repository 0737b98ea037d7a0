"""SQLAlchemy's dialect: engine, inspector, statements, pool, pandas and polars on top of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

from services.cutting import Cutter

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


def test_what_a_select_is_made_of_is_answered(engine, people):
    n = sa.func.count().label("n")
    groups = sa.select(people.c.sex, people.c.k, n).group_by(people.c.sex, people.c.k)
    inner = groups.subquery()
    part = groups.cte("part")
    asked = {
        "distinct": (sa.select(people.c.k).distinct(), 3),
        "case": (sa.select(sa.func.sum(sa.case((people.c.k == "1", 1), else_=0))), 1),
        "between a list": (sa.select(n).where(people.c.k.not_in(["2"]), sa.or_(people.c.sex == "F")), 1),
        "subquery": (sa.select(inner.c.sex, sa.func.sum(inner.c.n)).group_by(inner.c.sex), 2),
        "with": (sa.select(part.c.k, sa.func.max(part.c.n)).group_by(part.c.k), 3),
        "union": (
            sa.union_all(sa.select(n).where(people.c.k == "1"), sa.select(n).where(people.c.k == "2")),
            2,
        ),
        "ordered": (groups.order_by(people.c.sex.desc(), n).limit(4).offset(1), 4),
    }
    with engine.connect() as connection:
        for name, (statement, rows) in asked.items():
            assert len(connection.execute(statement).all()) == rows, name


def test_values_are_bound_in_every_way_that_sqlalchemy_has(engine, people):
    by = sa.select(sa.func.count()).where(people.c.sex == sa.bindparam("sex"))
    with engine.connect() as connection:
        one, two = (connection.execute(by, {"sex": sex}).scalar() for sex in "FM")
        total = connection.execute(sa.select(sa.func.count()).select_from(people)).scalar()
        assert one + two == pytest.approx(total)
        listed = sa.select(sa.func.count()).where(people.c.k.in_(sa.bindparam("ks", expanding=True)))
        assert connection.execute(listed, {"ks": ["0", "1", "2"]}).scalar() == pytest.approx(total)
        with pytest.raises(sa.exc.DataError):
            connection.execute(by, {"sex": "F' OR '1' = '1"})


def test_what_makes_or_fills_tables_is_refused(engine):
    other = sa.Table("other", sa.MetaData(), sa.Column("a", sa.Integer))
    with engine.connect() as connection:
        for statement in (sa.schema.CreateTable(other), sa.insert(other).values(a=1), sa.delete(other)):
            with pytest.raises(sa.exc.DBAPIError):
                connection.execute(statement)


def test_a_pool_serves_many_threads(url):
    engine = sa.create_engine(f"{url}?tls=off", pool_size=2, max_overflow=0)

    def ask(k):
        with engine.connect() as connection:
            asked = sa.text("SELECT COUNT(*) FROM people WHERE k = :k")
            return connection.execute(asked, {"k": str(k % 3)}).scalar()

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(ask, range(12)))
    assert found == found[:3] * 4
    assert engine.pool.checkedout() == 0
    engine.dispose()


def test_a_connection_that_is_cut_is_made_again_and_one_that_is_lost_leaves_the_pool(server, token):
    cutter = Cutter(int(server.url.rsplit(":", 1)[1]))
    engine = sa.create_engine(
        f"hedgerow://:{token}@127.0.0.1:{cutter.port}/people?tls=off", pool_pre_ping=True
    )
    with engine.connect() as connection:
        assert len(connection.execute(sa.text(SQL)).all()) == 3
        cutter.cut_all()
        assert len(connection.execute(sa.text(SQL)).all()) == 3  # within one connection
    cutter.cut_all()
    with engine.connect() as connection:  # from the pool, seen alive before it is handed out
        assert len(connection.execute(sa.text(SQL)).all()) == 3
    cutter.close()
    with pytest.raises(sa.exc.OperationalError), engine.connect() as connection:
        connection.execute(sa.text(SQL))
    engine.dispose()
