"""Where the files of a table are and what they are called: partitions, buckets, external paths, names."""
