"""Compactions of an Iceberg table beside Spark, which deletes and merges rows of it from every second."""
