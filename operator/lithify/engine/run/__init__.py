"""The Spark application: the driver plans, executors rewrite, the driver commits and reports."""
