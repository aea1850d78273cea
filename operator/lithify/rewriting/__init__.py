"""Arrow in, Arrow out: the streaming merge of sorted runs. Knows no Spark and no table format."""
