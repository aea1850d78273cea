"""Observes tables without reading data: live files, statistics, due work."""
