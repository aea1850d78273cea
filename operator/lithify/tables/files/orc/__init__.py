"""ORC: stripes, footers, and what Java and C++ hold differently of timestamps and texts."""
