"""HDFS for the tests: Hadoop's own servers in a JVM, and what stands between them and clients."""
