"""Factorization: measure what a workload can be rebuilt from best, and rebuild it.

Strategies as such are public and live in `queries`; here they are chosen, weighed and paid for.
"""
