"""What a table is (`model`), and one adapter per real format beside it."""
