"""Schemas: their versions, how files of old ones are read, what may change while a run is under way."""
