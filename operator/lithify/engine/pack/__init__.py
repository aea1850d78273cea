"""Packs files by plain figures: which of them are joined, into which bins, and why."""
