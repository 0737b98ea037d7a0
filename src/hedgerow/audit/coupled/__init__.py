"""One history, played on neighbouring tables: all but the exact numbers must be the same, and those close.

Here lie the recording curator, the neighbours, the checks, and mechanisms with planted mistakes; no
statistics.
"""
