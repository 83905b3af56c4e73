"""Unlisted groups: published if a noisy count is high enough, or as keys without a number.

| file | contents |
|---|---|
| `layout` | the two kinds of query, and the integers of a group |
| `groups`, `keys` | the two answers: groups with noisy numbers, and keys alone |
| `search`, `search_keys` | the search for noise with a threshold, and for chances of keys |
| `publish` | from the groups that occur in the data to published rows |
"""
