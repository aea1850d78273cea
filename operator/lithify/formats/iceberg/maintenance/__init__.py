"""Maintenance of Iceberg tables: planned from metadata, then done in one commit or in a safe order."""
