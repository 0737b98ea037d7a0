"""What a person or a program can do with a dataset, whatever the door: open it, ask it, publish it.

Decisions only: what a question costs and whether it may be asked. Nothing here parses a request or prints.
"""
