"""Session: questions asked one after another, in SQL or as queries, answered as cheaply as can be.

Of the other families it knows `adaptive` alone, which primes domains too large for a weight per cell.
"""
