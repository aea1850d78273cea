"""Attempts at Iceberg tables: what their journals record, what became of them, and what they left behind."""
