"""Exact integer noise, exact private choice, and the reports of randomised response, on OS entropy.

No rows and no budgets here: what is drawn does not know what it is added to.
"""
