"""Parsed options of merge engines, checked against the columns; merge functions are made from them.

`support` reads them to refuse tables, so nothing in here merges.
"""
