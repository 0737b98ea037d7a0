"""THE ROOM WITH ROWS. Rows enter here; only noise leaves, and every exit is in the ledger.

Nobody outside holds rows or exact answers: what leaves is a measurement, a choice, "above" or "below".
"""
