"""The `hedgerow` command. Nothing but the standard library is loaded before Ctrl-C can be heard."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from hedgerow.serve import signals


def main() -> None:
    """Run the command line."""
    said = "Interrupted; nothing was done."
    try:
        signals.listen()
        from hedgerow.serve.commands import app

        said = "Interrupted; every charge that was made is in the ledger."
        app()
    except SystemExit as done:
        signals.ignore()  # all is said: a signal would only spoil the exit code
        if done.code == 130:
            _leave(130)
        raise
    except BaseException as error:
        if not (isinstance(error, KeyboardInterrupt) or signals.heard()):
            raise
        signals.ignore()
        with suppress(OSError):
            if "--json" in sys.argv:
                told = {"error": said, "exit_code": 130, "code": "interrupted", "hint": None}
                sys.stdout.write(json.dumps(told) + "\n")
            sys.stderr.write(f"{said}\n")
        _leave(130)


def _leave(code: int) -> None:
    """End at once: Python might else end by the signal itself, though it was caught."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):
            stream.flush()
    os._exit(code)
