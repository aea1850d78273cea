"""Tables without a primary key whose rows are sorted by other columns, in levels."""
