"""The page about one release: its views, its charts, its promise, its receipt.

It reads a synopsis and nothing else.
"""
