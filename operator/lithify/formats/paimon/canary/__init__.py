"""Canaries of Paimon tables: copies that are branches, and their rows as pypaimon reads them."""
