"""From TOML to a spec, with every problem listed."""
