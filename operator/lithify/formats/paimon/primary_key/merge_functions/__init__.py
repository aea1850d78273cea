"""Merge functions of primary-key tables: one module per merge engine."""
