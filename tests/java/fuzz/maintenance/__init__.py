"""Random histories of tables without rows, in which all kinds of maintenance run; they need no Java."""
