"""Tasks of Iceberg tables: they read data files without their deleted rows, and write larger ones."""
