"""Read a spec from TOML, dictionaries or SQL, and list all its problems; start at `spec_file`."""
