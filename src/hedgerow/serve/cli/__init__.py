"""The `hedgerow` command: one file for each command or group of commands.

They parse, print and choose exit codes. Nothing that Python has not loaded already is loaded before Ctrl-C
can be heard.
"""

import os
import sys


def main() -> None:
    """Run the command line."""
    said = "Interrupted; nothing was done."
    try:
        from hedgerow.serve.cli import signals

        signals.listen()
        from hedgerow.serve.cli.commands import app
        from hedgerow.service.first_run import tell_of_compiling

        said = "Interrupted; every charge that was made is in the ledger."
        tell_of_compiling()
        app()
    except SystemExit as done:
        signals.ignore()  # all is said: a signal would only spoil the exit code
        if done.code == 130:
            _leave(130)
        raise
    except BaseException as error:
        from hedgerow.serve.cli import signals  # which may be what was interrupted

        if not (isinstance(error, KeyboardInterrupt) or signals.heard()):
            raise
        signals.ignore()
        _say(said)
        _leave(130)


def _say(said: str) -> None:
    """One sentence, and one JSON object for a program that asked for it."""
    import json

    try:
        if "--json" in sys.argv:
            told = {"error": said, "exit_code": 130, "code": "interrupted", "hint": None}
            sys.stdout.write(json.dumps(told) + "\n")
        sys.stderr.write(f"{said}\n")
    except OSError:  # nobody reads it
        pass


def _leave(code: int) -> None:
    """End at once: Python might else end by the signal itself, though it was caught."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, AttributeError):
            continue
    os._exit(code)
