"""Canaries of Iceberg tables: copies that are branches, and their rows as pyiceberg reads them."""
