"""What an analyst types with connectorx: tables, groups by each of its three protocols, an error."""

import json
import os
import sys
from urllib.parse import quote

import connectorx as cx

user, secret = (quote(os.environ[name], safe="") for name in ("PGUSER", "PGPASSWORD"))
url = f"postgresql://{user}:{secret}@{os.environ['PGHOST']}:{os.environ['PGPORT']}/people"
SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"


def read(sql: str, **how: str) -> object:
    """An Arrow table."""
    return cx.read_sql(url, sql, return_type="arrow", **how)


told = {"tables": read(TABLES)["table_name"].to_pylist()}
for way in ("binary", "cursor", "csv"):
    found = read(SQL, protocol=way)
    told[way] = [found["sex"].to_pylist(), str(found.schema.field("n").type)]
told["columns"] = list(cx.get_meta(url, SQL).columns)
try:
    read("SELECT nothing FROM people GROUP BY nothing")
except RuntimeError as error:
    told["error"] = str(error)
sys.stdout.write(json.dumps(told))
