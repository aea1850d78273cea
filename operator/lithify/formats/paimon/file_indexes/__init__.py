"""File indexes: what Paimon's readers look up before they read a data file. Arrow in, bytes out."""
