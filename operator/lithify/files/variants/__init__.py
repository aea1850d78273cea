"""VARIANT values: encoding, shredding into Parquet columns, and reassembly."""
