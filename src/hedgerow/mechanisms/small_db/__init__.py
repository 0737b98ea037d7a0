"""SmallDB: the exponential mechanism over all small databases, as the textbook proves it.

The range is counted and drawn from by the curator; here are its size, its price and its promise.
"""
