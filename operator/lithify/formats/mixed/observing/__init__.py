"""Observes keyed tables; imports nothing that writes data files."""
