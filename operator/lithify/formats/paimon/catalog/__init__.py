"""Opens tables: catalogs of every metastore, their options, and the identity of tables."""
