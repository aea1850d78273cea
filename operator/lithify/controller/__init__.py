"""The operator: decides what to compact, launches the runs, and keeps status up to date."""
