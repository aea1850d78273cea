"""What the records of a key become in a primary-key table: one module a merge engine."""
