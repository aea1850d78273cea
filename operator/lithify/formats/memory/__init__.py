"""The reference format: the smallest table that needs the whole seam. A new adapter starts as its copy.

Nobody outside of the tests has such tables: `registry` opens them, but does not offer the format. A table is
a folder with its definition (`definition.json`), one file per snapshot (`snapshots/7.json`, which lists all
data files), and data files by group (`data/<group>/`). Rows are ordered within their group; none are deleted.
"""
