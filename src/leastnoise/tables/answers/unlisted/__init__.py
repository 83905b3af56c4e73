"""Unlisted groups: published if a noisy count is high enough, or as keys without a number.

| file | what | |---|---| | `layout` | the two kinds of query, and the integers of a group | |
`groups`, `keys` | the two answers | | `search`, `search_keys` | their noise and thresholds, found
and proved | | `publish` | from the groups that exist to published rows |
"""
