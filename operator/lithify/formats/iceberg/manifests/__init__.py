"""Manifests and their lists as columns, read and written; which deletes apply to which data file."""
