"""SQL in two stages: what touches rows becomes Questions, what acts on released numbers is post-processing.

Public through and through, like the rest of SQL: no row comes here, and `engine` has never held one.
"""
