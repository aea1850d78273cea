"""The common model of a table, and one adapter package per table format."""
