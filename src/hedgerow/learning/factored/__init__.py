"""FactoredHypothesis: a product of small tables on a junction tree, for domains of any size, and its fit.

No rows and no epsilon; which tables are measured is the mechanism's to choose.
"""
