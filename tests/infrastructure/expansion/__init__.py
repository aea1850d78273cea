"""Expands variables in containers with the kubelet's own code."""
