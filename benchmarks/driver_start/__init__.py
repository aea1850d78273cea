"""How long drivers take until their first task is done, before and after what the Spark image does."""
