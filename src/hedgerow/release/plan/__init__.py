"""What every mechanism would do, from public numbers and made-up populations, before a row is read.

Nothing here opens a table or spends.
"""
