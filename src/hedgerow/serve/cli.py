"""The `hedgerow` command. Nothing but the standard library is loaded before Ctrl-C can be heard."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line."""
    try:
        from hedgerow.serve.commands import app

        app()
    except KeyboardInterrupt:  # before there was a command
        if "--json" in sys.argv:
            sys.stdout.write('{"error": "Interrupted; nothing was done.", "exit_code": 130}\n')
        sys.stderr.write("Interrupted; nothing was done.\n")
        _leave(130)
    except SystemExit as done:
        if done.code == 130:
            _leave(130)
        raise


def _leave(code: int) -> None:
    """End at once: Python might else end by the signal itself, though it was caught."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
