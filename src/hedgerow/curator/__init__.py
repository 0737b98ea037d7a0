"""THE ROOM WITH ROWS. Rows enter here; only noise leaves, and every exit is in the ledger."""
