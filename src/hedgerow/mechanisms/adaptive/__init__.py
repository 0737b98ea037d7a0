"""AdaptiveRelease: choose the table that the hypothesis gets most wrong, measure it, fit, and again.

Every private act goes through its curator; what is decided here is decided from public values.
"""
