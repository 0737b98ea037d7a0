"""ARITHMETIC. What a private act costs, what it promises, and the ledger that keeps count.

No rows and no randomness of its own: exact numbers, rounded against the user.
"""
