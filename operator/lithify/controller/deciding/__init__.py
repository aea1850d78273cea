"""Pure decisions about tables: whether a compaction is due, what holds it back, which run starts first."""
