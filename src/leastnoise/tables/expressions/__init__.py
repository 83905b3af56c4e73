"""A small language of row expressions: what a row is worth, computed from that row alone.

It is parsed and checked before any row is read, it is total (no row can make it fail: what has no
value is NULL), and it means the same on every engine.
"""
