"""Which files of a table are rewritten together, and why; pure."""
