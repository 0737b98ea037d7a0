"""DenseHypothesis: one weight for every possible row, its tables, and its fit to noisy tables.

No rows and no epsilon; it holds what was released, cell by cell.
"""
