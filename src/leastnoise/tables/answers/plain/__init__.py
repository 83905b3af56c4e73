"""Queries of listed groups, with draws that they may share.

| file | contents |
|---|---|
| `layout` | the kind of query, and its integers |
| `answer` | the answer: its draws, found and read back |
"""
