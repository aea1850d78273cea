"""Planning of one merge tree: its files as sorted runs, sections, rewrites and upgrades, and tasks."""
