"""Tables without a primary key: small files are joined, rows stay as they are."""
