"""Lithify's images, built from their Dockerfiles without Docker and without a registry, and tests of them."""
