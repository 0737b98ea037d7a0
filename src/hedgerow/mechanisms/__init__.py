"""One family, one folder: frozen public parameters, bodies that mirror the algorithm boxes.

A mechanism meets rows only through its curator; families know each other only where the house says so.
"""
