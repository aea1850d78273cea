"""Tables on S3 and compatible stores: every request that Lithify makes to them."""
