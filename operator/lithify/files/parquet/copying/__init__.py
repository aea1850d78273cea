"""Row groups copied from Parquet files into new ones without decoding them."""
