"""Deletes of Iceberg tables, all turned into the positions that they remove from each data file."""
