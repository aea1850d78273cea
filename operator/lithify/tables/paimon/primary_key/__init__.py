"""Compaction of primary-key tables: planning, tasks, merge functions, and reading and writing data files."""
