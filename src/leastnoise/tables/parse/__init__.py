"""From TOML, dictionaries or SQL to a spec, with every problem listed; `spec_file` begins it."""
