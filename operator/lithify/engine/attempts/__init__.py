"""Attempts at a table: their journal, heartbeats, fencing, and clean-up of the files that dead ones left."""
