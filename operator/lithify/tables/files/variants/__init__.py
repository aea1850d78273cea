"""VARIANT values: how they are encoded, shredded into Parquet columns, and put together again."""
