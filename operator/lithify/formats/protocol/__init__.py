"""What runs, the operator and the command line know of a table in any format."""
