"""Catalogs of Iceberg tables: where the newest metadata of a table is, and how it is replaced atomically.

`connecting` makes a catalog from a table's address. A server (REST) applies changes itself; all others hold a
pointer to a metadata file, which is compared and swapped. Files are read and written by `io` alone.
"""
