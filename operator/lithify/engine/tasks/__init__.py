"""Tasks of any table format: how they run on executors, and how a failure stays with its group."""
