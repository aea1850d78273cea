"""Deletion vectors: which rows of data files are deleted, and the index files that say so."""
