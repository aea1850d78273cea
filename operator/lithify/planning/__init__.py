"""Pure decisions about which files to compact and how: no I/O, no clock, no table format, no arrays.

One package for each shape that files of a group have: `merge_tree` for the levels of a primary-key bucket.
"""
