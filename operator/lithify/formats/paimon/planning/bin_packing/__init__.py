"""Planning of tables whose files are not sorted by a key: which small files are joined to larger ones."""
