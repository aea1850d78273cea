"""Rooms that every table format shares: units of work are opaque here."""
