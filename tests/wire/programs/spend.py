"""Asks question after question that cost something, each under a request id, and prints what it got."""

import os
import sys

import psycopg

PLACE = {"host": os.environ["PGHOST"], "port": os.environ["PGPORT"], "dbname": "people", "autocommit": True}
ASKED = [f"SELECT COUNT(*) FROM people WHERE sex = '{s}' AND k = '{k}' AND age < {a}"
         for a in (20, 40, 60) for k in range(3) for s in "FM"]  # fmt: skip


def main(first: int, last: int) -> None:
    options = "-c hedgerow.spend=on -c hedgerow.within=0.1"
    user, token = os.environ["PGUSER"], os.environ["PGPASSWORD"]
    with psycopg.connect(**PLACE, user=user, password=token, options=options) as db:
        for i in range(first, last):
            db.execute(f"SET hedgerow.request = 'spend-{i}'")
            (count,) = db.execute(ASKED[i]).fetchone()
            sys.stdout.write(f"{i} {count}\n")
            sys.stdout.flush()


main(int(sys.argv[1]), int(sys.argv[2]))
