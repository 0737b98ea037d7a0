"""The HTTP door: one file for each group of endpoints, and the table that all of them are made from.

They parse requests, check tokens and write replies. What a question may do and costs is decided in `service`.
"""
