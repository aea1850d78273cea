"""What counts say of buckets before there are objects for their files; for plans and observations."""
