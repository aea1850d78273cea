"""Bucket statistics computed from manifest columns, before file objects are built."""
