"""Real Apache Paimon for tests: a Java process that makes, reads, compacts and judges tables."""
