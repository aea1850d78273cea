"""Observes tables without reading their data, in worker processes that can be killed."""
