"""Java programs that answer lines of JSON: their protocol in Java, and their processes in Python."""
