"""Bodies: sets of all changes that a unit can make to a release; noise takes their shape.

A body K is a convex, closed and bounded set in R^D with inner points and K = −K. Its gauge is N(x)
= min{t >= 0 : x ∈ tK}, a norm whose unit ball is K. Noise with density proportional to e^(−εN) is
ε-DP for every shift in K; one only has to prove N(s) <= 1 for all shifts s (theory/bodies.md §1).

| API | N(x) | a unit can |
|---|---|---|
| `Segment(bound=b)` | ∣x∣/b | move one number by at most b |
| `Box(bounds)` | max ∣x_i∣/b_i | move all the numbers of one cell |
| `Ball(bound=b, coordinates=d)` | ‖x‖₂/b | move a vector by a length of at most b |
| `Polygon(points)` | max over the edges | shift two numbers by ± one of finitely many vectors |
| `Cells(bodies, copies)` | Σ N_i(x_i) | move one of the cells alone |
| `AtMost(most=k, cells=m, of=B)` | max(max N_B(x_j), Σ N_B(x_j)/k) | move at most k of m cells |
| `Together(bodies, radii, exponent=p)` | (Σ (N_i(x_i)/r_i)^p)^(1/p) | move all blocks at once |
| `Signed(of=T)` | P(x) + Q(x) | be added (a move in T) or removed (a move in −T) |
| `Differences(of=T)` | max(P(x), Q(x)) | be replaced by another (a move in T − T) |

The last two are built on the set T of all moves of a unit that is *added* (`OneSided`). P(x) and
Q(x) are the smallest multiples of T that must be added and removed to move by x:

| API | T |
|---|---|
| `Counts(queries=d, most=k, bound=b)` | d conditions of which a row meets at most k |
| `CountedSums(cells=m, bounds)` | a count and sums, ∣sum∣ <= count, in one of m cells |
| `Counted(of=T, bound=b)` | T, followed by the number of rows |
| `Jointly(parts, radii, exponent=p)` | several of these at once |

Comparisons of gauges are decided in exact fractions, or in balls if a gauge is irrational. Volumes
are balls. Moments are the nearest floats, since they only decide which noise is tried first.
"""
