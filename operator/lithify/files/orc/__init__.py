"""ORC: stripes, footers, and the differences between Java and C++ in timestamps and texts."""
