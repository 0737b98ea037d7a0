"""The client's room: asking a server from Python, by DB-API and by SQLAlchemy.

It loads errors and the standard library, and nothing that reads rows or adds noise: who only asks installs
only this. Frames are made by pandas, polars or Arrow where the caller has them.
"""
