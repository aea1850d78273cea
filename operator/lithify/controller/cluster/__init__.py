"""Access to Kubernetes: API requests, events, leases; and a folder that replaces an API server."""
