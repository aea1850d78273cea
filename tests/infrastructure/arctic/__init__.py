"""Real Arctic keyed tables for the tests: arctic-core 0.4.1, and a model of its reads."""
