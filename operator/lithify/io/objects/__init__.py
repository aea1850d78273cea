"""Tables on object stores: every request that Lithify makes to them."""
