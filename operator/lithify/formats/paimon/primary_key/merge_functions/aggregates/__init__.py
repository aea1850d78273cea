"""Aggregate functions: reduce the values of one column in a key's records to one value."""
