"""How the operator does with many tables on a real API server: `make bench-operator`."""
