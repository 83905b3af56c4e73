"""A release: rehearsed, charged, drawn, written, sealed, and verified from what was written."""
