"""The sections and keys of a spec, each value checked by itself; nothing here reads a file."""
