"""Tables on S3 and on stores that speak its protocol: every request that Lithify makes there."""
