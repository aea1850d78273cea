"""One attempt at a Compaction, as a driver makes it: what it reports, and when it stops."""
