"""Files of a table, read through pypaimon or without it, and the identity that they give the table."""
