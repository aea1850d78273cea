"""What the operator knows of a table without reading data: live files, statistics, what is due."""
