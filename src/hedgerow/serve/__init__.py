"""Where people and machines talk to Hedgerow: the command line.

Doors only: parsing, printing and exit codes, no decision about rows or budgets.
"""
