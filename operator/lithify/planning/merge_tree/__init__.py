"""Universal compaction of one merge tree: levels, triggers, picks, sections, rewrites and tasks."""
