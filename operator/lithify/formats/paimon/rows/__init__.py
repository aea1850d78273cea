"""Paimon's binary rows: partitions, key bounds and statistics as bytes, and their hash codes."""
