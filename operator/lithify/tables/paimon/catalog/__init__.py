"""Opens tables: catalogs of every metastore, what they may be asked, which table a name stands for."""
