"""File indexes, which Paimon's readers consult before they read a data file. Arrow in, bytes out."""
