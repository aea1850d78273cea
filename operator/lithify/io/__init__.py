"""File systems of tables: local files, S3, and the policy of reachable addresses.

Knows no table format and no file format.
"""
