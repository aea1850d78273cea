"""Decides which files are compacted and how, as Paimon does. Pure: no I/O, no clock, no arrays.

One room for each arrangement of a bucket's files: `merge_tree` for the levels of a primary-key bucket,
`bin_packing` for files without levels (`engine.pack` decides), `clustering` for levels of files that are
sorted by other columns. They do not know each other. `universal` picks sorted runs for the two that have
levels; `work` has what all plans are made of.
"""
