"""From rows to the exact integers of queries."""
