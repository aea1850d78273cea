"""Parquet: row groups, footers, dictionaries."""
