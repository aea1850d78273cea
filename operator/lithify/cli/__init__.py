"""The `lithify` command: thin shells over `job` and `tables`."""
