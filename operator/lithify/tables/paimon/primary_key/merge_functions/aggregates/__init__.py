"""Aggregate functions: how the values that a key's records have in one column become one value."""
