"""Locations and names of a table's files: partitions, buckets, external paths."""
