"""Running totals over growing data: every day's total so far, for one price."""
