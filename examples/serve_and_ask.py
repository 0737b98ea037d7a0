"""Start a server over made-up people, ask it over HTTP, and stop it.

Run it with `python examples/serve_and_ask.py`; it needs `pip install 'hedgerow[serve]'`, and
works in a folder of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import hedgerow as hr


def main() -> None:
    """One owner, one free question, one that costs."""
    with TemporaryDirectory() as folder:
        data, schema = Path(folder) / "people.csv", Path(folder) / "schema.yaml"
        data.write_text("sex,age\n" + "".join(f"{'FM'[i % 3 % 2]},{i % 90}\n" for i in range(3000)))
        schema.write_text("attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 10]}\n")
        options = ["--schema", str(schema), "--epsilon", "1", "--learn", "0.3", "--json", "--no-browser"]
        command = [sys.executable, "-m", "hedgerow", "serve", str(data), *options]
        ports = ["--port", "0", "--wire-port", "off"]
        with subprocess.Popen(
            [*command, *ports], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as server:
            try:
                assert server.stdout is not None
                ready = json.loads(server.stdout.readline())  # one line, once it accepts
                ask(ready["url"], ready["owner_token"])
            finally:
                server.terminate()
        sys.stdout.write(f"the server ended with {server.returncode}\n")


def ask(url: str, token: str) -> None:
    """What an analyst's program does."""
    with hr.connect(url, token, "people") as db:
        wait(db)
        for row in db.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex").rows:
            n = row["n"]
            sys.stdout.write(f"{row['sex']}: {n['value']:.0f} ± {n['error']:.0f} ({n['source']})\n")
        close = db.ask("SELECT COUNT(*) FROM people WHERE age >= 60", within_count=60, spend=True)
        sys.stdout.write(f"60 and older: {close.value:.0f} ± {close.error:.0f} ({close.source})\n")
        left = db.budget()["remaining"]["epsilon"]
        sys.stdout.write(f"left to spend: epsilon {left:.2f}\n")


def wait(db: hr.client.Connection) -> None:
    """Until the owner's first release, which the server makes by itself, is there."""
    import time

    from hedgerow.errors import NotLearned

    for _ in range(600):
        try:
            db.ask("SELECT COUNT(*) FROM people")
            return
        except NotLearned:
            time.sleep(0.1)
    raise TimeoutError("the server has learned nothing in a minute")


if __name__ == "__main__":
    main()
