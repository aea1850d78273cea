"""Table options as numbers: what planning, the merge, the writer and the commit read of them."""
