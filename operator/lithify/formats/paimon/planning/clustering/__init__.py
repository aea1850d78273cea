"""Planning of tables without a key whose rows are sorted by other columns, in levels."""
