"""Arrow in, Arrow out: merges sorted runs, sorts rows, rolls files. Knows no Spark and no table format."""
