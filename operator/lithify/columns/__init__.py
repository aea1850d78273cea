"""Columns as arrays: their order, nulls and offsets, and metadata read into them.

Knows no table format and no file format.
"""
