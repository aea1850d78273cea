"""The state machine of one Compaction, pure."""
