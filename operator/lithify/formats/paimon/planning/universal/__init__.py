"""Universal compaction: picks whole sorted runs by number and size, whatever their rows are sorted by."""
