"""Parquet's own command line, a reader of Parquet files that is neither Paimon's, Spark's nor Arrow's."""
