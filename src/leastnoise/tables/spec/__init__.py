"""What a spec may say, a value at a time; nothing here reads a file."""
