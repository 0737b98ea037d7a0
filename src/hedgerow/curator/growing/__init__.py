"""Rows that arrive in blocks: which of them are accepted, where they are kept, and who has been seen.

What is charged for them is the ledger's matter (`privacy/ledger`); nothing here releases anything.
"""
