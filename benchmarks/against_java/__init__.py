"""`make bench`: the same table compacted by Java Paimon and by Lithify, one core each, side by side."""
