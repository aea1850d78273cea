"""One compaction of an Iceberg table: a pinned view, the plan made on it, its tasks and its steps."""
