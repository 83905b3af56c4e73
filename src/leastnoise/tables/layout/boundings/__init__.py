"""The boundings of one person's vector in a query, and the shifts that follow from them.

A bounding limits the numbers that one person adds to a query: it drops or shrinks numbers beyond
its limits. A shift is the change of the query's numbers by one person.

| file | content |
|---|---|
| `base` | the numbers of a query, and the interface to their shifts by one unit |
| `once_in_cells` | a person counts once in each of a few cells |
| `in_cells` | limits on the size of a person's numbers in a cell, and in all cells |
| `in_ball` | a limit on the length of a person's vector |
| `in_unlisted_groups` | limits on groups whose keys nobody listed |
| `bounding` | the type of any of these boundings |
| `from_limits` | the boundings that the limits of a spec ask for |

Notation: a query has several cells, with the same numbers in each. A row is in at most one cell
(with conditions it may be in several), and its numbers are in [−1, 1]. M_j is the largest absolute
value of a person's numbers in cell j. A person with n_j rows in cell j has M_j <= n_j. So a
bounding that follows from limits on rows changes no numbers of a person within these limits
(theory/release.md §5). A unit is a person or, if the spec protects rows, a row.

A bounding has the shifts by a person who is added or removed. Its `replaced` has the shifts by a
person who is replaced by another: differences t − t′ of two vectors that the bounding allows.
"""
