"""Where rows come from and how they become exact whole numbers: files, frames, engines, units, tables.

Nothing here leaves the curator: no noise, no charge, no message that holds a value.
"""
