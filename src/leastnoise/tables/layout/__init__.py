"""The layout of a query: which integers are summed, and how far one unit moves them."""
