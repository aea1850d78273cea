"""The edges to Kubernetes: API requests, events, leases; and a folder that stands in for it."""
