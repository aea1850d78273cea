"""Level-triggered reconcilers: gather facts, call the pure parts for decisions, write status, then act."""
