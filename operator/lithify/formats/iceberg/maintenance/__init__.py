"""Maintenance of Iceberg tables: what may be deleted, planned from metadata, committed, then deleted."""
