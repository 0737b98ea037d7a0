"""What Superset does with a database: look at it, make datasets, draw charts, list values for filters."""

import json
import logging
import os
import sys
import warnings
from datetime import datetime
from pathlib import Path

warnings.filterwarnings("ignore")
home = Path(sys.argv[1])
cache = {"CACHE_TYPE": "SimpleCache"}
(home / "superset_config.py").write_text(f"""
SECRET_KEY = {"x" * 42!r}
SQLALCHEMY_DATABASE_URI = "sqlite:///{home}/superset.db"
CACHE_CONFIG = DATA_CACHE_CONFIG = FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {cache}
""")
os.environ["SUPERSET_CONFIG_PATH"] = str(home / "superset_config.py")

from superset.app import create_app  # noqa: E402

logging.disable(logging.ERROR)
app, told = create_app(), {}
BASE = {"granularity": None, "from_dttm": None, "to_dttm": None, "is_timeseries": False, "filter": [],
        "extras": {}, "metrics": ["count"], "groupby": [], "columns": ["sex"], "row_limit": 1000,
        "orderby": [], "inner_from_dttm": None, "inner_to_dttm": None}  # fmt: skip
AGE = {"expressionType": "SIMPLE", "column": {"column_name": "age", "type": "BIGINT"}}
CHARTS = {
    "pie": {},
    "ordered": {"orderby": [("count", False)]},
    "big number": {"columns": []},
    "quarters": {"granularity": "day", "is_timeseries": True, "extras": {"time_grain_sqla": "P3M"}},
    "years": {"granularity": "day", "is_timeseries": True, "extras": {"time_grain_sqla": "P1Y"}},
    "range": {"granularity": "day", "from_dttm": datetime(2024, 4, 1), "to_dttm": datetime(2024, 10, 1)},
    "filtered": {
        "filter": [{"col": "k", "op": "IN", "val": ["1", "2"]}, {"col": "age", "op": ">=", "val": 40}]
    },
    "having": {"extras": {"having": "(COUNT(*) > 100)"}},
    "averages": {"metrics": [AGE | {"aggregate": "AVG", "label": "mean"}]},
    "raw": {"metrics": None, "columns": ["sex", "k"], "row_limit": 50},
    "months": {"granularity": "day", "is_timeseries": True, "extras": {"time_grain_sqla": "P1M"}},
    "wrong": {"metrics": [{"expressionType": "SQL", "sqlExpression": "SUM(nothing)", "label": "s"}]},
}  # fmt: skip

with app.app_context(), app.test_request_context():
    from flask_appbuilder import Model
    from superset import db, security_manager
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.core import Database
    from superset.sql.parse import Table
    from superset.utils.core import override_user

    Model.metadata.create_all(db.engine)
    admin = security_manager.add_role("Admin")
    user = security_manager.add_user("a", "a", "a", "a@example.org", admin, password="a")
    token, place = os.environ["PGPASSWORD"], f"{os.environ['PGHOST']}:{os.environ['PGPORT']}"
    base = Database(database_name="hedgerow")
    base.set_sqlalchemy_uri(f"postgresql+psycopg2://{os.environ['PGUSER']}:{token}@{place}/people")
    db.session.add(base)
    db.session.commit()
    with override_user(user):
        table = Table("people", "public", "people")
        told["tables"] = [t[0] for t in base.get_all_table_names_in_schema("people", "public")]
        told["columns"] = [column["column_name"] for column in base.get_columns(table)]
        told["nothing"] = [
            *base.get_all_view_names_in_schema("people", "public"),
            *base.get_indexes(table),
            *base.get_foreign_keys(table),
            *(base.get_pk_constraint(table)["constrained_columns"] or ()),
        ]
        told["catalogs"] = sorted(base.get_all_catalog_names())
        told["schemas"] = sorted(base.get_all_schema_names(catalog="people"))
        told["comment"] = base.get_table_comment(table)
        told["rows"] = len(base.get_df(base.select_star(table, limit=100), "people", "public"))
        people = SqlaTable(table_name="people", schema="public", catalog="people", database=base)
        virtual = SqlaTable(table_name="virtual", schema="public", catalog="people", database=base)
        virtual.sql = "SELECT sex, k, COUNT(*) AS n, dp_low(n) AS low FROM people GROUP BY sex, k"
        for made in (people, virtual):
            db.session.add(made)
            made.fetch_metadata()
            db.session.commit()
        charts = {name: people.query(BASE | chart) for name, chart in CHARTS.items()}
        charts["virtual"] = virtual.query(BASE | {"metrics": None, "columns": ["sex", "k", "n", "low"]})
        summed = {"expressionType": "SQL", "sqlExpression": "SUM(n)", "label": "s"}
        charts["summed"] = virtual.query(BASE | {"metrics": [summed]})
        told["charts"] = {
            n: len(c.df) if c.error_message is None else c.error_message for n, c in charts.items()
        }
        told["values"] = [str(value) for value in people.values_for_column("k", limit=100)]
sys.stdout.write("\n" + json.dumps(told))
