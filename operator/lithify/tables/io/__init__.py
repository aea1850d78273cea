"""Where the files of tables are: local file systems, S3, and which addresses may be reached at all.

Knows no table format and no file format.
"""
