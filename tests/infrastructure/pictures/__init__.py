"""The pictures of docs/, made of real runs by `make pictures`."""
