"""SparseHypothesis: multiplicative weights over names without end.

No rows and no epsilon; nobody lists the universe here.
"""
