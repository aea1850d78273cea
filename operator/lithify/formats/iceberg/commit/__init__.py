"""Commits of compactions: rules of conflict, the REPLACE snapshot, and how it is published by a catalog."""
