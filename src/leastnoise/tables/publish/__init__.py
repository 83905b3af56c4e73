"""Run a release: rehearse, charge, draw, write and seal it. Verify it from its directory."""
