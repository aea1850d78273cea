"""Commits of a run and the journal that makes crashes harmless: conflicts, history, clean-up."""
