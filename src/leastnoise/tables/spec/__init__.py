"""The sections and keys of a spec; each value is checked by itself, and no file is read."""
