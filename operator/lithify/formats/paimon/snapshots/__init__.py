"""The snapshots of a table: reading, writing, and whether they belong to its history."""
