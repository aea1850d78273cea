"""What several test folders share: tables made by Java, runs in this or another process."""
