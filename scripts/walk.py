"""Count what code a later question and a row go through: files and functions of `hedgerow`, each once.

    python scripts/walk.py                # a later `ask`, and a `release`, of a small file
    python scripts/walk.py --list ask     # and name them
    python scripts/walk.py --mechanism adaptive    # a row's own way: nothing is planned to choose a mechanism

What runs while modules are imported does not count, nor do comprehensions and lambdas.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import threading
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType

import hedgerow
from hedgerow.serve.cli import main as command

HOME = str(Path(hedgerow.__file__).parent)
QUESTION = "SELECT sex, COUNT(*) FROM t WHERE age >= 40 GROUP BY sex"
LATER = "SELECT COUNT(*) FROM t WHERE town = 'south' AND age >= 60"
SCHEMA = """\
confirmed: true
attributes:
  sex: [F, M]
  age: {bins: [0, 100, 20]}
  town: [north, south, west]
"""


def importing(frame: FrameType | None) -> bool:
    """Whether a module of the package is being imported below this call."""
    while frame is not None:
        code, frame = frame.f_code, frame.f_back
        if code.co_name == "<module>" and code.co_filename.startswith(HOME):
            return True
    return False


@contextlib.contextmanager
def walked() -> Iterator[set[CodeType]]:
    """The functions of the package that are entered meanwhile, in every thread."""
    seen: set[CodeType] = set()

    def enter(frame: FrameType, what: str, _: object) -> None:
        code = frame.f_code
        if what != "call" or not code.co_filename.startswith(HOME) or code.co_name.startswith("<"):
            return
        if code.co_flags & CO_OPTIMIZED and not importing(frame):  # a class's body is not optimised
            seen.add(code)

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def run(*arguments: str) -> None:
    """One command of the command line, its output thrown away."""
    sys.argv = ["hedgerow", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            command()
        except SystemExit as done:
            if done.code:
                raise


def main() -> None:
    """Make a small country, ask and release, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=("ask", "release"))
    parser.add_argument("--mechanism", default="auto")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        rows = [f"{'FM'[i % 2]},{i * 37 % 100},{('north', 'south', 'west')[i % 3]}" for i in range(2000)]
        Path("people.csv").write_text("\n".join(["sex,age,town", *rows]) + "\n")
        Path("schema.yaml").write_text(SCHEMA)
        run("budget", "init", "people.csv", "--epsilon", "8")
        run("ask", "people.csv", QUESTION)
        steps = {
            "ask": ("ask", "people.csv", LATER),
            "release": (
                "release",
                "people.csv",
                "--schema",
                "schema.yaml",
                "--epsilon",
                "1",
                "--out",
                "out",
                "--mechanism",
                wanted.mechanism,
            ),
        }
        for name, arguments in steps.items():
            with walked() as seen:
                run(*arguments)
            files = {code.co_filename for code in seen}
            sys.stdout.write(f"{name}: {len(files)} files, {len(seen)} functions\n")
            if name == wanted.list:
                for code in sorted(seen, key=lambda c: (c.co_filename, c.co_firstlineno)):
                    sys.stdout.write(f"  {code.co_filename[len(HOME) + 1 :]}  {code.co_qualname}\n")


if __name__ == "__main__":
    main()
