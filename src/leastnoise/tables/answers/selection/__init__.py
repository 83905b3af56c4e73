"""Queries of the largest groups, which are selected before their counts get noise.

| file | contents |
|---|---|
| `layout` | the kind of query, and its integers |
| `answer` | the answer: the rounds of the selection, and the noise in the counts |
"""
