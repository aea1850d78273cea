"""The Protocols and values by which runs, the operator and the command line use a table of any format."""
