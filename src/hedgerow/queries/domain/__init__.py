"""The declared, public domain: attributes, bins, dates, the schema file, and which level a raw value names.

No question and no count: what rows look like, not how many there are.
"""
