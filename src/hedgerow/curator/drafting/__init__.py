"""A schema drafted from rows for their owner, and for nobody else: exact readings, no noise, no charge.

Nothing here is private in the sense of the promise: these are readings for the eyes of the person who holds
the file anyway. No mechanism uses them. A draft that anybody may see is made by `service.drafting`, of noise.
"""
