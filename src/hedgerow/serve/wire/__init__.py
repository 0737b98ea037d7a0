"""PostgreSQL's wire protocol, version 3: analysts' own tools, asking as they ask a database.

Here are messages, signing in, values, the catalogue and one conversation for each connection. What a
question may do and costs is decided in the service room, as for every other door. The catalogue knows the
declared schema, and never a row.
"""
