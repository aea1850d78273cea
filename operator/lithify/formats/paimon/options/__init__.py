"""Parsed table options for planning, the merge, the writer and the commit."""
