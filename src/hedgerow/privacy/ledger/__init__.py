"""The ledger: lines, the file that keeps them, the filter in front of them, copies, receipts.

It counts and remembers; what an act costs is decided by events and the accountant, next door.
"""
