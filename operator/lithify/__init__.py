"""Lithify keeps lakehouse tables compacted: plans as the format plans, merges in Arrow, runs on Spark."""

__version__ = "0.1.0"
