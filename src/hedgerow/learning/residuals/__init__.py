"""Residuals: what tables hold beyond their margins - measured, weighed against a model, made to agree.

Everything here is a function of what was released. Nothing here knows a mechanism or a price.
"""
