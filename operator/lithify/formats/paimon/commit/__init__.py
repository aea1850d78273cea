"""Commits of a run and the journal for crash recovery: conflicts, history, clean-up."""
