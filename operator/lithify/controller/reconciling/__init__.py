"""Gathers facts, asks the pure parts, writes status, acts. Level-triggered."""
