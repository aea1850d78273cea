"""Commits the changes of several groups as one snapshot, while other writers commit."""
