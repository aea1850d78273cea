"""Schemas: versions, reading files of old versions, changes allowed during a run."""
