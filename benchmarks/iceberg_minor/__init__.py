"""Minor runs of Iceberg tables, which turn equality deletes into positions, beside rewrites of the data."""
