"""Java programs that answer lines of JSON: their protocol in Java, and their processes as Python sees them."""
