"""Published tables: their columns, from noisy vectors to values, and their files."""
