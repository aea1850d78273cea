"""Compaction of primary-key tables: planning, tasks that merge, merge functions, lookups, postponed rows."""
