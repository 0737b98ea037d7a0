"""What an analyst types in DuckDB, with its postgres extension: attach, look around, ask, be refused."""

import json
import os
import sys
from pathlib import Path

import duckdb
import duckdb_extension_postgres_scanner as package

found = next(Path(package.__file__).parent.rglob("*.duckdb_extension"))
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
db.execute(f"LOAD '{found}'")
place = f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} user={os.environ['PGUSER']} dbname=people"
db.execute(f"ATTACH '{place} password={os.environ['PGPASSWORD']}' AS db (TYPE postgres, READ_ONLY)")
GROUPS = "SELECT k, COUNT(*) AS n, dp_low(n) AS low FROM people GROUP BY k"
ASKED = {
    "tables": "SELECT name FROM (SHOW ALL TABLES)",
    "columns": "SELECT column_name, column_type FROM (DESCRIBE db.people)",
    "ask": "SELECT sex FROM postgres_query('db', 'SELECT sex, COUNT(*) AS n FROM people GROUP BY sex')",
    "group": f"SELECT k FROM postgres_query('db', '{GROUPS}') WHERE low <= n ORDER BY k",
    "rows": "SELECT * FROM db.people LIMIT 5",
    "error": "SELECT * FROM postgres_query('db', 'SELECT nothing FROM people GROUP BY nothing')",
    "everything": "SELECT sex, count(*) FROM db.people GROUP BY sex",
}
told = {}
for name, sql in ASKED.items():
    try:
        told[name] = db.execute(sql).fetchall()
    except duckdb.Error as error:
        told[name] = str(error)
sys.stdout.write(json.dumps(told, default=str))
