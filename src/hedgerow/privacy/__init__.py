"""ARITHMETIC. What a private act costs, what it promises, and the ledger that keeps count."""
