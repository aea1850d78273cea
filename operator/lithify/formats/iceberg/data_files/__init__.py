"""Data files of Iceberg tables: schemas by field id, and rows read in the table's current schema."""
