"""Checks of the chart: Helm, and a program that knows what Prometheus and Argo CD make of its files."""
