"""A driver's attempts at Compactions: from instructions to outcomes, over Spark, until they are stopped."""
