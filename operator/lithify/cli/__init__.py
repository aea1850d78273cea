"""The `lithify` command: thin shells over `controller`, `engine` and `formats`."""
