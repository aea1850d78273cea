"""Observes tables of any format without reading data: what is due in each group, and what has changed."""
