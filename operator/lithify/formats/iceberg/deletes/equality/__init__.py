"""Equality deletes, as an anti-join of key columns that spills to local disk."""
