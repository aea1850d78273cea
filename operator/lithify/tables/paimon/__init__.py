"""Apache Paimon: the only package that imports pypaimon (metadata readers and writers, FileIO)."""
