"""Data files of primary-key tables: key-value rows in, key-value rows and their statistics out."""
