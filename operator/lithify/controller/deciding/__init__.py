"""Pure decisions about tables: whether a compaction is due, what holds it back, who goes first."""
