"""Real Iceberg for the tests: Spark, a REST catalog server and its faults, and a second reader."""
