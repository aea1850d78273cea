"""Reading and writing the data files of every kind of table; it plans nothing and commits nothing."""
