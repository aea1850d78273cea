"""Observes Iceberg tables without reading data: which partitions are due, and what has changed."""
