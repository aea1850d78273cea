"""Tables on HDFS: every request that Lithify makes to name nodes and data nodes."""
