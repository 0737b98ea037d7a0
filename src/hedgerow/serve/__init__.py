"""Doors, where people and machines talk to Hedgerow: the command line.

They parse, print and choose exit codes; what a question costs and whether it may be asked, `service` decides.
"""
