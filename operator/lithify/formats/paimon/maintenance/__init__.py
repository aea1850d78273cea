"""Maintenance of Paimon tables: what may be deleted, planned from metadata, then deleted in a safe order."""
