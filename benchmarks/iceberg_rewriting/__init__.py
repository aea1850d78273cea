"""Processor seconds of one task that rewrites Iceberg's data files."""
