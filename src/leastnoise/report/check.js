// leastnoise_check.py for browsers and Node, function by function; the mathematics stands there.
// Exact numbers are Fractions (exact.js), whole numbers up to 2^53 are Numbers.

class Rejected extends Error {} // A statement is false or malformed.
class NotChecked extends Error {} // The statement may be true, but here is no proof for it.

const output = { say: () => {} };
const say = (line) => output.say(line);

function need(holds, why, Kind = Rejected) { if (!holds) throw new Kind(why); }
const expect = (holds, why) => need(holds, why, NotChecked);
const differs = (items) => new Set(items.filter((x) => (x ?? null) !== null)).size > 1;

// 1. Reading. A field has the same meaning and range wherever it stands in a certificate.

const BASIC = "basic composition: epsilons and deltas add up";
const TIGHT = "tight composition: all draws of noise together, their laws fixed in advance";
const BODIES = {
  interval: "bound", box: "bounds", ball: "bound coordinates", cells: "bodies copies",
  "at-most": "most cells of", together: "bodies radii exponent", signed: "of",
  differences: "of", polygon: "",
};
const ADDED = {
  counts: "queries most bound", counted: "of bound", "counted-sums": "cells bounds",
  jointly: "parts radii exponent",
};
const SENSITIVITIES = {
  l1: "bound", l2: "bound", integer: "bound", linf: "bound l0 whole", within: "hull",
  "row-counts": "bound neighbours", added: "of", groups: "", vertices: "", "sums-of-cells": "",
  "counting-queries": "bound dimension max_nonzero neighbours with_total",
};
const GEOMETRIES = {
  cells: "count", "count-ellipse": "queries shared offset total", blocks: "", matrix: "",
};
const STEP = "version epsilon delta neighbours assumptions ";
const STATEMENTS = {
  certificate: "version epsilon delta noise dimension sensitivity geometry compositions " +
    "sampling_rate delta_interval grid assumptions",
  "threshold-certificate": `${STEP}noise threshold reach chance_below coordinate`,
  "quantile-certificate": `${STEP}levels rates nested candidates parts groups reach`,
  "selection-certificate": `${STEP}rate rounds candidates`,
  "keys-certificate": `${STEP}groups chances bits`,
  "limit-certificate": `${STEP}rate candidates noise plans`,
};
const each = (names, value) => Object.fromEntries(words(names).map((name) => [name, value]));
const [SMALLEST, ANY] = [power(-300), [power(300).mul(-1), power(300)]];
const [LENGTH, COUNT] = [[power(-140), power(140)], [1, 1e6]];
const NUMBERS = {
  ...each("scale bound bounds radii reach rates rate", LENGTH),
  ...each("delta sampling_rate chance_below shares levels atom", [0, 1]),
  ...each("delta_interval threshold offset limits amounts", ANY),
  epsilon: [0, 1e5], rho: [0, 1e4], gamma: [LENGTH[0], 1], decay: [power(-3), 1e6],
  radius: [power(-12), 1e5], shared: [-1, 1e9], total: [0, 1e9],
};
const WHOLES = {
  ...each("dimension cells copies coordinates queries most l0 groups", COUNT),
  ...each("branches count max_nonzero rounds", COUNT), coordinate: [0, 1e6],
  masses: [0, 2n ** 20_000n], chances: [0, 2 ** 52], bits: [0, 14],
  ...each("compositions candidates", [1, 2 ** 53]), releases: [2, 2 ** 53],
};
const WORDS = {
  ...each("whole with_total nested", [true, false]), rule: [BASIC, TIGHT],
  version: [1n], neighbours: ["add-remove", "replace-one"],
};
const LISTS = words(
  "bounds radii masses branches shares copies levels rates delta_interval draws " +
    "chances limits amounts plans",
);
const MEANINGS = {
  "limit-certificate": { candidates: "limits", noise: "amounts" },
  "quantile-certificate": { parts: "count", groups: "candidates" },
};

function number(text) {
  const why = `Expected a quoted number, got ${show(text)}.`;
  const value = spelled(isText(text) && text.length <= 1300 ? text : "no number");
  need(value, why);
  if (text.includes("0x")) return value;
  const fits = Math.max(bitLength(value.n), bitLength(value.d)) <= 2000;
  const size = most([value, value.mul(-1)]);
  need(fits && (!value.n || (atMost(SMALLEST, size) && atMost(size, power(300)))), why);
  return value;
}

function read(name, value, item = false) {
  if (LISTS.includes(name) && !item) {
    need(isList(value) && value.length, `Expected a list for ${name}.`);
    expect(value.length <= 50_000, `a list of ${value.length} items`);
    return value.map((part) => read(name, part, true));
  }
  const wrong = () => `${name} = ${show(value)} is no such number.`;
  if (name in NUMBERS) {
    const [x, [low, high]] = [number(value), NUMBERS[name]];
    const above = less(0, low) ? x.n > 0n : atMost(low, x);
    need(above && (atMost(x, high) || less(1, high)), wrong());
    const usual = atMost(low, x) && atMost(x, high);
    expect(usual, `${name} = ${show(value)}, too small or too large`);
    return x;
  }
  const ofSum = name === "coordinate" && value === "sum";
  expect(!ofSum, "a threshold for the sum of a group's numbers");
  if (name in WHOLES) {
    const [low, high] = WHOLES[name];
    if (typeof value !== "bigint" || value < low) throw new Rejected(wrong());
    if (value > high) throw new NotChecked(`${name} = ${show(value)}, which is too large`);
    return name === "masses" || name === "chances" ? value : Number(value);
  }
  if (name in WORDS && !WORDS[name].includes(value)) {
    throw new Rejected(`${name} = ${show(value)} is not in ${show(WORDS[name])}.`);
  }
  return ["body", "hull"].includes(name) ? shape(value, BODIES) : value;
}

const [OBJECT, WHOLE] = ["JSON object", "whole number"];
const KINDS = {
  text: isText, list: isList, [OBJECT]: isObject,
  [WHOLE]: (x) => typeof x === "bigint",
};

function asObject(value) {
  need(isObject(value), "Expected a JSON object.");
  return value;
}

function field(record, name, kind, other = null) {
  const value = get(asObject(record), name, other);
  need(KINDS[kind](value), `Expected a ${kind} for ${name}, got ${show(value)}.`);
  return value;
}

function fields(record, names, optional = "") {
  asObject(record);
  let meant = {};
  if (isObject(names)) {
    const kind = get(record, "kind");
    need(isText(kind) && Object.hasOwn(names, kind), `Unknown kind ${show(kind)}.`);
    expect(names[kind], `the kind ${kind}`);
    [names, meant] = [`kind ${names[kind]}`, MEANINGS[kind] ?? {}];
  }
  const [needed, known, keys] = [words(names), words(`${names} ${optional}`), Object.keys(record)];
  const fits = needed.every((name) => name in record) && keys.every((name) => known.includes(name));
  need(fits, `Expected the fields ${names}.`);
  return Object.fromEntries(keys.map((name) => [name, read(meant[name] ?? name, record[name])]));
}

// A convex set: [kind, dimension, its fields].
function shape(record, kinds, deepest = 6) {
  expect(deepest, "shapes nested too deep");
  const r = fields(record, kinds);
  const plainly = !("exponent" in r) || r.exponent === "infinity";
  expect(plainly, "shapes with an exponent");
  const kind = r.kind;
  const inner = ["cells", "at-most", "together"].includes(kind) ? BODIES : ADDED;
  let parts = [];
  for (const name of ["of", "parts", "bodies"].filter((field) => field in r)) {
    const listed = name === "of" ? [r.of] : r[name];
    need(isList(listed) && listed.length, "Expected a list of parts.");
    parts = r[name] = listed.map((part) => shape(part, inner, deepest - 1));
  }
  const ones = parts.map(() => 1);
  const [copies, radii] = [r.copies ?? ones, r.radii ?? ones];
  const [cells, moved] = [r.cells ?? r.queries ?? 1, r.most ?? 1];
  const even = !differs([copies.length, radii.length, parts.length]);
  const fits = even && moved <= cells && radii.every((radius) => atMost(1, radius));
  need(fits, `The fields of ${kind} do not fit each other.`);
  const sizes = parts.map((part, i) => part[1] * copies[i]);
  const numbers = (parts.length ? total(sizes) : (r.bounds ?? "1").length) * cells;
  const dimension = numbers * (r.coordinates ?? 1) + (kind === "counted" ? 1 : 0);
  const few = dimension <= 1e6 && (moved === cells || moved * dimension <= 1e6);
  expect(few, "shapes of too many numbers");
  if (kind === "interval") return ["box", 1, [r.bound]];
  return [kind, dimension, ...words(kinds[kind]).map((name) => r[name])];
}

const parse = (bytes) => asObject(loads(decode(bytes)));

// 2. Balls.

const UNIT = 1n << 512n;

class Ball {
  constructor(low, high) { [this.low, this.high] = [low, high]; }
  static of(value) {
    const { n, d } = exact(value);
    return new Ball(floorDiv(n * UNIT, d), ceilDiv(n * UNIT, d));
  }
  add(other) { return new Ball(this.low + other.low, this.high + other.high); }
  sub(other) { return new Ball(this.low - other.high, this.high - other.low); }
  mul({ low, high }) {
    const ends = [this.low * low, this.low * high, this.high * low, this.high * high];
    const above = largest(ends.map((end) => -end));
    return new Ball(-above >> 512n, -(-largest(ends) >> 512n));
  }
  div({ low, high }) {
    expect(low > 0n, "a division by a number next to 0");
    const least = floorDiv(this.low * UNIT, this.low < 0n ? low : high);
    return new Ball(least, ceilDiv(this.high * UNIT, this.high < 0n ? high : low));
  }
  over(n) { return new Ball(floorDiv(this.low, BigInt(n)), ceilDiv(this.high, BigInt(n))); }
  sqrt() { return new Ball(isqrt(this.low * UNIT), isqrt(this.high * UNIT) + 1n); }
  size() { return -this.low > this.high ? -this.low : this.high; }
}

const ball = Ball.of;
const [ZERO, ONE, HALF] = [new Ball(0n, 0n), ball(1), ball(over(1n, 2n))];

function exp(x) {
  const at = (end) => {
    if (end < -1000n * UNIT) return new Ball(0n, 1n);
    expect(end <= UNIT << 17n, "an exponent above 131,072");
    const halvings = Math.max(0, bitLength(end) - 512 + 8);
    const y = new Ball(end >> BigInt(halvings), -(-end >> BigInt(halvings)));
    let [series, term] = [ONE, ONE];
    for (let n = 1; term.size() > 1n; n++) {
      term = term.mul(y).over(n);
      series = series.add(term);
    }
    series = series.add(new Ball(-2n, 2n));
    for (let i = 0; i < halvings; i++) series = series.mul(series);
    return series;
  };
  const low = at(x.low).low;
  return new Ball(low > 0n ? low : 0n, at(x.high).high);
}

function integral(x) {
  expect(x.size() <= 40n * UNIT, "a Gaussian law beyond 40 standard deviations");
  const square = x.mul(x);
  let [term, series] = [x, x];
  for (let n = 3; term.size() > 1n || square.high > BigInt(n >> 1) * UNIT; n += 2) {
    term = term.mul(square).over(n);
    series = series.add(term);
  }
  return series.add(new Ball(-2n, 2n)).div(exp(square.mul(HALF)));
}

let mass = null;

function normal(x) {
  mass ??= integral(ball(40)).add(new Ball(0n, 1n));
  return HALF.add(integral(x).div(mass.add(mass)));
}

// 3. How far one person moves the numbers.

function fact(shifts, name) {
  expect(name in shifts, "this noise for shifts that are described in this way");
  return shifts[name];
}

function hullOf(bound, moved, cells) {
  if (moved >= cells) return ["box", cells, Array(cells).fill(bound)];
  const segment = hullOf(bound, 1, 1);
  if (moved === 1) return ["cells", cells, [segment], [cells]];
  return ["at-most", cells, moved, cells, [segment]];
}

function roundedUp(square) {
  const { n, d } = over(square.n, square.d).reduce();
  if (isqrt(n * d) ** 2n === n * d) return square;
  const above = over(isqrt((n * d) << 128n) + 1n, d << 64n);
  return above.mul(above);
}

function shiftsOf(r, d) {
  const [kind, b, neighbours] = [r.kind, r.bound ?? exact(1), r.neighbours ?? null];
  const [replaced, s] = [neighbours === "replace-one", { neighbours }];
  let numbers = d;
  if (kind === "within") [s.hull, numbers] = [r.hull, r.hull[1]];
  else if (kind === "added") {
    s.added = shape(r.of, ADDED);
    numbers = s.added[1];
    [s.neighbours, s.hull] = ["add-remove", ["signed", numbers, [s.added]]];
  } else if (kind === "counting-queries") {
    const [q, k, n] = [r.dimension, r.max_nonzero, r.with_total ? 1 : 0];
    numbers = q + n;
    const moved = replaced ? Math.min(2 * k, q) : k;
    need(k <= q && !(replaced && n), "More queries than there are, or a replaced total.");
    let counts = ["counts", q, q, k, b];
    if (n) counts = ["counted", q + 1, [counts], exact(1)];
    [s.square, s.hull] = [b.mul(b).mul(moved).add(n), hullOf(b, k, q)];
    if (moved + n === 1) s.l1 = b;
    if (!replaced) s.added = counts;
    const around = [replaced ? "differences" : "signed", q + n, [counts]];
    if (n || (replaced ? k < q : k > 1)) s.hull = around;
  } else {
    const moved = Math.min(r.l0 ?? 1, d);
    const whole = kind === "integer" || kind === "row-counts" || (r.whole ?? false);
    const between = kind === "row-counts" && replaced && d > 1;
    if (kind === "integer") numbers = 1;
    need(b.isWhole() || !whole, "Whole shifts have a whole bound.");
    [s.square, s.hull] = [b.mul(b).mul(between ? 2 : moved), hullOf(b, moved, d)];
    if (whole) s.rows = [b.mul(moved), replaced];
    if (whole && d === 1) s.whole = b;
    if (moved === 1 && !between && (kind !== "l2" || d === 1)) s.l1 = b;
    if (kind === "l2" && d > 1) s.hull = ["ball", d, b, d];
    if (between) s.hull = ["differences", d, [["counts", d, d, 1, b]]];
  }
  need(numbers === d, "The sensitivity is of another number of numbers.");
  if ("square" in s) s.square = roundedUp(s.square);
  return s;
}

function longestImage(r, w) {
  const [q, b, k, n] = [r.dimension, r.bound, r.max_nonzero, r.with_total ? 1 : 0];
  expect(q <= 20_000, "more than 20,000 counting queries");
  let corners = Array.from({ length: k + 1 }, (_, i) => [i, 0]);
  if (r.neighbours === "replace-one") {
    const extremes = (m) => [Math.min(m, 2 * k - m), m % 2].map((t) => [(m + t) / 2, (m - t) / 2]);
    corners = Array.from({ length: Math.min(2 * k, q) + 1 }, (_, m) => extremes(m)).flat();
  }
  const squares = corners.map(([i, j]) => {
    const lean = w.shared.mul(b).mul(i - j).add(w.offset.mul(n));
    const entries = [[i, b.add(lean)], [j, lean.sub(b)], [q - i - j, lean], [n, w.total]];
    return sum(entries.map(([times, x]) => x.mul(x).mul(times)));
  });
  return most(squares);
}

function shiftsToHide(claim) {
  const r = fields(claim.sensitivity, SENSITIVITIES);
  const [d, draws] = [claim.dimension, BigInt(claim.compositions)];
  const s = shiftsOf(r, d);
  if (claim.geometry === null) return [s, d, draws];
  const g = fields(claim.geometry, GEOMETRIES);
  if (g.kind === "cells") {
    need(r.kind === "linf" && g.count === d, "Other cells than the shifts have.");
    const alone = { kind: r.whole ? "integer" : "l2", bound: r.bound };
    return [shiftsOf(alone, 1), 1, draws * BigInt(Math.min(r.l0, d))];
  }
  const counting = r.kind === "counting-queries" && g.queries === r.dimension;
  const fits = counting && g.total.n > 0n === r.with_total && (g.total.n || !g.offset.n);
  need(fits && less(-1, g.shared.mul(g.queries)), "The geometry does not fit the shifts.");
  return [{ square: longestImage(r, g), neighbours: r.neighbours }, d, draws];
}

// 4. Laws of noise. notation: p the parameters, b the scale; s the shifts, Δ the longest.

const FAMILIES = {
  laplace: "scale", staircase: "scale gamma decay", geometric: "scale cells core decay",
  "k-norm": "scale body", "k-staircase": "scale body gamma decay",
  agreeing: "scale branches shares", "two-sided-laplace": "scale of core",
  "two-sided-staircase": "scale of core decay", gaussian: "scale", l2: "scale",
  "truncated-laplace": "scale radius", "truncated-staircase": "scale gamma radius decay atom",
  tulap: "scale radius decay", "discrete-staircase": "scale cells masses",
};

function onTree(p, s, d) {
  let { shares, branches } = p;
  const [nodes, product] = [[1], (items) => items.reduce((a, b) => a * b, 1)];
  need(1 < shares.length && shares.length <= 13, "No levels, or too many.");
  if (branches.length === shares.length - 1 && product(branches) <= 1 << 16) {
    branches = branches.flatMap((b, i) => Array(product(branches.slice(0, i))).fill(b));
  }
  for (let level = 1; level < shares.length; level++) {
    const first = total(nodes.slice(0, -1));
    nodes.push(total(branches.slice(first, first + nodes.at(-1))));
  }
  const tree = nodes.at(-1) === d && d <= 1 << 16 && total(nodes.slice(0, -1)) === branches.length;
  const fine = (share) => share.n > 0n && less(share.mul(2 ** 32), p.scale);
  const fits = tree && atMost(sum(shares), 1) && shares.at(-1).n > 0n && !shares.some(fine);
  need(fits, "The branches are no tree of these numbers, or the shares are more than 1.");
  const [[steps, moved], apart] = [fact(s, "rows"), nodes.findIndex((n) => n > 1)];
  const twice = moved && apart >= 0 ? sum(shares.slice(apart)).mul(2) : 0;
  return steps.mul(most([sum(shares), twice])).div(p.scale);
}

function lossOf(name, p, s, d) {
  let moved;
  if (name === "laplace" || name === "staircase") moved = fact(s, "l1").div(p.scale);
  else if ("cells" in p) {
    const fits = exact(p.cells).div(p.scale).isWhole() && (p.core ?? 1) <= p.cells;
    need(fits, "A shift by 1 leaves the lattice of the noise.");
    moved = fact(s, "whole").div(p.scale);
  } else if ("body" in p || "of" in p) {
    const form = p.body ?? shape(p.of, ADDED);
    need(form[1] === d, "The dimension of the noise does not fit.");
    const around = "core" in p && !("decay" in p);
    const hidden = around ? ["signed", d, [form]] : form;
    const known = fact(s, "of" in p && "decay" in p ? "added" : "hull");
    expect(same(hidden, known), "noise in another shape than the shifts");
    moved = exact(1).div(p.scale);
  } else return name === "agreeing" ? onTree(p, s, d) : null;
  return "decay" in p ? p.decay.mul(moved.ceil()) : "masses" in p ? null : moved;
}

function gaussian(square, epsilon) {
  const r = ball(square).sqrt();
  const [half, away] = [r.mul(HALF), ball(epsilon).div(r)];
  const far = exp(ball(epsilon)).mul(normal(ZERO.sub(half).sub(away)));
  return normal(half.sub(away)).sub(far);
}

function truncatedLaplace(t, a, epsilon) {
  const low = exp(ball(a.mul(-1)));
  const below = (x) => {
    if (x.n > 0n) return ONE.sub(below(x.mul(-1)));
    if (atMost(x.add(a), 0)) return ZERO;
    return exp(ball(x)).sub(low).mul(HALF).div(ONE.sub(low));
  };
  const y = less(epsilon, t) ? most([t.sub(a), t.sub(epsilon).div(2)]) : t.sub(a);
  return below(y).sub(exp(ball(epsilon)).mul(below(y.sub(t))));
}

function truncatedSteps(t, p, epsilon) {
  const [gamma, { radius, decay }] = [p.gamma ?? over(1n, 2n), p];
  const [q, w, half] = [exp(ball(decay.mul(-1))), ball(p.atom ?? 0), t.div(2)];
  const short = atMost(t, 1) && less(half, radius);
  expect(short, "shifts of more than a step, or beyond the noise");
  const mass = (x) => {
    if (atMost(x, gamma)) return ball(x);
    const n = x.sub(gamma).floor();
    const last = exp(ball(decay.mul(-n - 1n)));
    const steps = q.sub(last).div(ONE.sub(q)).add(ball(x.sub(gamma).sub(n)).mul(last));
    return ball(gamma).add(steps);
  };
  const inside = atMost(t, radius);
  const [all, side] = [mass(radius), mass(inside ? radius.sub(t) : t.sub(radius))];
  let outside = (inside ? all.sub(side) : all.add(side)).mul(HALF).div(all);
  if (less(epsilon, decay)) {
    const seen = mass(half).div(all).sub(outside).div(ONE.sub(q));
    outside = outside.add(seen.mul(ONE.sub(exp(ball(epsilon.sub(decay))))));
  }
  return w.add(ONE.sub(w).mul(outside));
}

function lattice(shift, p, epsilon) {
  const [w, factor, moves] = [p.masses, exp(ball(epsilon)), Number(shift.floor())];
  const step = Number(exact(p.cells).div(p.scale).floor());
  need(w[0] > 0n, "The first weight is 0.");
  const weights = [...w.slice(1).reverse(), ...w];
  let shifts = [step * moves];
  if (w.some((x, k) => k && x > w[k - 1])) {
    expect(moves * w.length <= 3e5, "a long list of weights that rise");
    shifts = Array.from({ length: moves }, (_, i) => step * (i + 1));
  }
  const above = (e, j) => weights.reduce((positive, a, k) => {
    const left = a * UNIT - (k < j ? 0n : e * weights[k - j]);
    return left > 0n ? positive + left : positive;
  }, 0n);
  const worst = (e) => largest(shifts.map((j) => above(e, j)));
  return new Ball(worst(factor.high), worst(factor.low)).over(wholes(weights));
}

function besselK(z) {
  const up = exp(ball(over(1n, 64n)));
  let [value, zeroth, cosh] = [ONE, exp(ZERO.sub(z)).mul(HALF), ONE];
  let [rise, fall, first] = [up, ONE.div(up), zeroth];
  while (value.size() > 1n) {
    cosh = rise.add(fall).mul(HALF);
    value = exp(ZERO.sub(z.mul(cosh)));
    [zeroth, first] = [zeroth.add(value), first.add(value.mul(cosh))];
    [rise, fall] = [rise.mul(up), fall.div(up)];
  }
  const [rest, off] = [new Ball(0n, 2n * ((cosh.high >> 512n) + 1n)), new Ball(-1n, 1n)];
  return [zeroth.add(rest).over(64).add(off), first.add(rest).over(64).add(off)];
}

// `m` is a multiple of ½.
function cap(m, c, w) {
  const [odd, floor, halves] = [m % 1 !== 0, Math.floor(m), (x) => over(BigInt(2 * x), 2n)];
  const enough = 6n * c.size() + BigInt(2 * Math.abs(m)) * UNIT;
  const start = ball(floor < 0 ? halves(2 ** floor) : 1n << BigInt(floor));
  let [before, g] = [ZERO, start.mul(odd ? ball(2).sqrt() : ONE)];
  let [power, series] = [ONE, ZERO];
  for (let n = 0; before.size() > 16n || g.size() > 16n || BigInt(n) * UNIT < enough; n++) {
    series = series.add(g.mul(power).mul(ball(exact(1).div(halves(m + n + 1)))));
    const rise = ball(halves(n - m)).add(c).add(c).mul(g).sub(c.mul(before));
    [before, g, power] = [g, rise.over(2 * n + 2), power.mul(w)];
  }
  series = series.add(new Ball(-112n, 112n));
  for (let i = 0; i <= floor; i++) series = series.mul(w);
  return odd ? series.mul(w.sqrt()) : series;
}

function l2(square, d, epsilon) {
  const [r, m] = [ball(square).sqrt(), (d - 3) / 2];
  const small = d <= 500 && UNIT >> 40n < r.low && r.high < 300n * UNIT;
  expect(small, "l2 noise of very many numbers, or very small or large");
  const [z, end] = [r.mul(HALF), ONE.sub(ball(epsilon).div(r))];
  let ratio = ONE;
  if (d % 2 === 0) {
    const [zeroth, first] = besselK(z);
    ratio = first.div(zeroth);
  }
  for (let twice = 2 - (d % 2); twice < d - 1; twice += 2) {
    ratio = ONE.div(ratio).add(ball(twice).div(z));
  }
  const [rho, minus] = [ball(d - 1).div(z).mul(ratio), ZERO.sub(z)];
  const [e, up, down] = [exp(ball(epsilon)), exp(z), exp(minus)];
  let [above, whole] = [ZERO, ZERO];
  for (const [n, factor] of [[m, rho], [m + 1, ONE]]) {
    const tail = up.mul(cap(n, minus, end)).sub(e.mul(down).mul(cap(n, z, end)));
    const sides = up.mul(cap(n, minus, ONE)).add(down.mul(cap(n, z, ONE)));
    [above, whole] = [above.add(factor.mul(tail)), whole.add(factor.mul(sides))];
  }
  return above.div(whole);
}

// 5. Certificates.

const ASSUMPTIONS = {
  certificate: [
    "Between neighbouring inputs the query moves by at most the stated sensitivity.",
    "AES-256-CTR keyed by the operating system can't be told from fair bits.",
    "Running time and memory use are not observed.",
  ],
  "threshold-certificate": [
    "a group's row is published only if its noisy count, as it is published, reaches the " +
      "threshold, or by a fair coin of that chance if it is one step of the grid below; nothing " +
      "is said of other groups, not even how many there are",
  ],
  "quantile-certificate": [
    "candidates, groups and levels are public and fixed before the rows are read; what a unit " +
      "adds to all cells of all groups depends on its own rows alone, is nowhere negative, and " +
      "is at most the reach in all",
  ],
  "selection-certificate": [
    "the candidates are public and fixed before the rows are read; what a unit adds to each " +
      "candidate's score depends on its own rows alone, and is 0 or 1",
  ],
  "keys-certificate": [
    "each key that a unit has is published by a fair coin of its own, of the chance that the " +
      "table gives the number of its units; nothing is said of other keys, not even how many " +
      "there are",
  ],
  "limit-certificate": [
    "candidates, their noise and their plans are public and fixed before the rows are read; " +
      "the number of a unit's rows or groups depends on its own rows alone",
  ],
};

function readClaim(record, kinds = STATEMENTS) {
  const claim = fields(record, kinds, "neighbours");
  expect(same(claim.sampling_rate ?? 1, 1), "releases of samples");
  const assumed = dumps(claim.assumptions) === dumps(ASSUMPTIONS[claim.kind]);
  const fits = assumed && claim.epsilon.add(claim.delta).n && less(claim.delta, 1);
  need(fits, "Other assumptions than the proof has, or no budget.");
  if (claim.kind !== "certificate") return claim;
  const noise = fields(claim.noise, "name parameters");
  const name = isText(noise.name) ? noise.name : "";
  expect(Object.hasOwn(FAMILIES, name), `${show(name)} noise`);
  const [p, [s, d, draws]] = [fields(noise.parameters, FAMILIES[name]), shiftsToHide(claim)];
  if ("core" in p) {
    p.core = read(name === "geometric" ? "most" : "total", p.core);
    need(name !== "two-sided-staircase" || atMost(1, p.core.mul(1e6)), "No core.");
  }
  const scalar = /^(staircase|geometric|tulap|truncated.*|discrete.*)$/.test(name);
  need(scalar ? d === 1 : d > 1 || name !== "l2", "The dimension of the noise does not fit.");
  const grid = claim.grid === null ? null : number(claim.grid);
  const isPower = (n) => (n & (n - 1n)) === 0n;
  const fine = grid === null || (grid.n > 0n && isPower(grid.n) && isPower(grid.d));
  const about = [claim.neighbours, s.neighbours];
  need(fine && !differs(about), "The grid is no power of two, or the neighbours differ.");
  return { ...claim, name, p, s, d, draws, grid, neighbours: about[0] ?? about[1] };
}

function deltaOf({ name, p, s, d }, draws, epsilon) {
  let [loss, square, pure] = [null, null, false];
  if (name === "gaussian" || name === "l2") {
    square = fact(s, "square").div(p.scale.mul(p.scale));
    if (name === "gaussian") return gaussian(square.mul(draws), epsilon);
    pure = atMost(square.mul(draws * draws), epsilon.mul(epsilon));
  } else {
    loss = lossOf(name, p, s, d);
    pure = loss !== null && atMost(loss.mul(draws), epsilon);
  }
  if (pure) return ZERO;
  expect(draws === 1n, `${draws} draws of ${name} noise with δ above 0`);
  const moved = () => fact(s, "l1").div(p.scale);
  if (name === "l2") return l2(square, d, epsilon);
  if (name === "laplace") return ONE.sub(exp(ball(epsilon.sub(loss).div(2))));
  if (name === "truncated-laplace") return truncatedLaplace(moved(), p.radius, epsilon);
  if (/^(truncated-staircase|tulap)$/.test(name)) return truncatedSteps(moved(), p, epsilon);
  expect(name === "discrete-staircase", `${name} noise with δ above 0`);
  return lattice(fact(s, "whole"), p, epsilon);
}

const bound = ({ high }) => general(over(high, UNIT).float(), 9);
const isWithin = ({ high }, end) => atMost(over(high, UNIT), end);

function checkDraw(claim) {
  const [delta, ends] = [deltaOf(claim, claim.draws, claim.epsilon), claim.delta_interval];
  need(isWithin(delta, claim.delta), `δ is up to ${bound(delta)}.`);
  const above = ends.length === 2 && atMost(ends[0], over(delta.low, UNIT));
  const fits = above && delta.low <= delta.high && isWithin(delta, ends[1]);
  need(fits, "δ is not in the stated interval.");
  return delta;
}

function tail({ name, p }, t, i) {
  let c = t.div(p.scale);
  if (name === "gaussian") return normal(ball(c.mul(-1)));
  if (name === "discrete-staircase") {
    const w = p.masses;
    const far = wholes(w.slice(Number(c.mul(p.cells).floor()) + 1));
    return ball(over(far, 2n * wholes(w) - w[0]));
  }
  const known = name === "laplace" || (name === "k-norm" && p.body[0] === "box");
  expect(known, `a threshold for ${name} noise`);
  const q = name === "k-norm" ? p.body[2].length : 1;
  if (name === "k-norm") c = c.div(p.body[2][i]);
  let [series, term] = [ZERO, ONE];
  for (let j = 0; j < q; j++) {
    series = series.add(term.mul(ball(exact(q - j).div(q))));
    term = term.mul(ball(c.div(j + 1)));
  }
  return series.mul(HALF).mul(exp(ball(c.mul(-1))));
}

function addedOrReplaced(claim, delta) {
  if (claim.neighbours === "add-remove") return delta(claim.epsilon);
  const half = claim.epsilon.div(2);
  return delta(half).mul(ONE.add(exp(ball(half))));
}

function checkThreshold(claim) {
  const noise = readClaim(claim.noise, { certificate: STATEMENTS.certificate });
  checkDraw(noise);
  const { chance_below: coin, coordinate: i } = claim;
  const { grid, draws: k } = noise;
  const about = grid && noise.geometry === null && noise.neighbours === "add-remove";
  const fits = about && i < noise.d && less(coin, 1);
  need(fits, "The certificate of the noise does not fit a threshold.");
  expect(k <= 200n, "more than 200 groups");
  const slack = exact(2 ** 39 + 1).div(2 ** 40);
  const near = claim.threshold.sub(claim.reach).sub(grid.mul(slack));
  const above = (t) => (t.n < 0n ? ONE : tail(noise, t, i));
  const certain = ONE.sub(ball(coin)).mul(above(near));
  const p = certain.add(ball(coin).mul(above(near.sub(grid))));
  return addedOrReplaced(claim, (epsilon) => {
    let [worst, hidden] = [0n, ONE];
    for (let j = 0n; j <= k; j++) {
      const rest = j < k ? deltaOf(noise, k - j, epsilon) : ZERO;
      const { high } = ONE.sub(hidden).add(hidden.mul(rest));
      if (high > worst) worst = high;
      hidden = hidden.mul(ONE.sub(p));
    }
    return new Ball(0n, worst);
  });
}

function checkKeys(claim) {
  const [{ chances, groups: k }, certain] = [claim, 1n << 52n];
  need(chances.at(-1) === certain, "A group that is beyond the list is not always named.");
  const steps = chances.map((chance, n) => [n ? chances[n - 1] : 0n, chance]);
  const sides = steps.flatMap(([p, q]) => [[p, q], [q, p]]);
  sides.push(...sides.map(([p, q]) => [certain - p, certain - q]));
  const bound = addedOrReplaced(claim, (epsilon) => {
    const e = exp(ball(epsilon.div(k))).low;
    const worst = largest(sides.map(([p, q]) => p * UNIT - e * q));
    return new Ball(0n, BigInt(k) * worst).over(certain);
  });
  const loose = !isWithin(bound, claim.delta) && k > 1;
  expect(!loose, "keys of several groups by tight composition");
  return bound;
}

function checkQuantiles(claim) {
  const [{ levels, rates, nested }, one] = [claim, exact(1)];
  const [ends, replaced] = [[exact(0), ...levels, one], claim.neighbours === "replace-one"];
  const rising = ends.slice(1).every((end, i) => less(ends[i], end));
  const fits = rising && rates.length === levels.length && levels.length <= 1000;
  need(fits, "Levels do not rise, or have no rates.");
  const costs = [];
  const left = nested ? [[0, levels.length, 0]] : levels.map((_, i) => [i, i + 1, i]);
  while (left.length) {
    const [first, last, depth] = left.pop();
    const i = (first + last) >> 1;
    const [low, high] = nested ? [ends[first], ends[last + 1]] : [ends[0], one];
    const a = levels[i].sub(low).div(high.sub(low));
    const alone = replaced && claim.groups === 1 && (depth === 0 || !nested);
    const share = alone ? 1 : most([a, one.sub(a)]).mul(replaced ? 2 : 1);
    const cost = rates[i].mul(2).mul(claim.reach.mul(share));
    costs[depth] = most([costs[depth] ?? 0, cost]);
    if (first < i) left.push([first, i, depth + 1]);
    if (i + 1 < last) left.push([i + 1, last, depth + 1]);
  }
  need(atMost(sum(costs), claim.epsilon), "The draws need a larger ε.");
  return ZERO;
}

function checkSelection({ rate, rounds, candidates, neighbours, epsilon }) {
  need(rounds < candidates, "There are as many rounds as candidates.");
  const spent = rate.mul(rounds).mul(neighbours === "replace-one" ? 2 : 1);
  need(atMost(spent, epsilon), "The rounds need a larger ε.");
  return ZERO;
}

function checkLimit(claim) {
  const { candidates: limits, plans, noise } = claim;
  const rising = limits.every((limit, i) => !i || less(limits[i - 1], limit));
  const paired = !differs([limits.length, plans.length, noise.length]);
  const fits = rising && paired && 2 <= plans.length && plans.length <= 12;
  need(fits, "Limits do not rise, or have no plans.");
  let known = true;
  for (const [i, record] of plans.entries()) {
    say(`With the limit ${general(limits[i].float(), 6)}:`);
    need(isObject(record) && get(record, "kind") === "plan-certificate", "A limit has no plan.");
    const claims = checkCertificate(record) ?? [];
    known &&= claims.length;
    const again = claims.some((c) => c.kind === "limit-certificate");
    const related = claims.every((c) => !differs([c.neighbours, claim.neighbours]));
    need(!again && related && !("releases" in record), "No plan after a limit.");
    const enough = atMost(claim.rate.mul(2).add(number(record.epsilon)), claim.epsilon);
    const within = enough && atMost(number(record.delta), claim.delta);
    need(within, "A plan and the choice of its limit need more than the budget.");
  }
  expect(known, "a plan of a limit");
  return new Ball(0n, ball(claim.delta).low);
}

const PROOFS = {
  certificate: checkDraw, "threshold-certificate": checkThreshold,
  "quantile-certificate": checkQuantiles, "selection-certificate": checkSelection,
  "keys-certificate": checkKeys, "limit-certificate": checkLimit,
};

// 6. What is printed: of a certificate, of a plan of several, of a release.

const SENTENCES = {
  l1: "by at most {bound} in all", l2: "by a vector of length at most {bound}",
  integer: "by a whole number of at most {bound}", within: "within the body {hull}",
  linf: "by at most {bound} each, in at most {l0} of them",
  "row-counts": "as {bound} rows do, each of which counts in one of them",
  "counting-queries": "as records do that add 0 to {bound} to at most {max_nonzero} of them",
  added: "by adding, or taking away, a point of the set {of}",
};
const MORE_ASSUMED = {
  "threshold-certificate":
    "; the count is number {coordinate} (from 0), which one person changes by at most {reach}",
  "quantile-certificate": "; at most {groups} groups; the reach is {reach}",
  "keys-certificate": "; one person has at most {groups} keys",
};
const NEIGHBOURS = {
  "add-remove": " if a person is added or removed",
  "replace-one": " if a person is replaced by another",
};

function plain(value) {
  return isText(value) ? general(number(value).float(), 6) : show(value);
}

const fill = (text, record) => text.replace(/{(\w+)}/g, (_, name) => plain(record[name]));

function attempt(title, check) {
  try {
    return check();
  } catch (reason) {
    if (!(reason instanceof NotChecked)) throw reason;
    say(`${title}: NOT CHECKED here: ${reason.message}.`);
    return null;
  }
}

function checkStatement(title, record) {
  const known = attempt(title, () => {
    const claim = readClaim(record);
    return [claim, PROOFS[claim.kind](claim)];
  });
  if (!known) return null;
  const [claim, delta] = known;
  need(isWithin(delta, claim.delta), `${title}: δ is up to ${bound(delta)}.`);
  const draw = { certificate: record, "threshold-certificate": get(record, "noise") }[claim.kind];
  say(`${title}:`);
  if (draw) {
    const [r, times] = [draw.sensitivity, draw.compositions];
    say(`  ${draw.noise.name} noise on ${draw.dimension} numbers, ${times} time(s).`);
    say(`  ASSUMED: one person changes these ${fill(SENTENCES[r.kind], r)}.`);
  }
  const more = fill(MORE_ASSUMED[claim.kind] ?? "", record);
  if (claim.kind !== "certificate") say(`  ASSUMED: ${claim.assumptions[0]}${more}.`);
  const where = `${plain(record.epsilon)}${NEIGHBOURS[claim.neighbours] ?? ""}`;
  say(`  PROVED: δ(ε) is at most ${bound(delta)} at ε = ${where}.`);
  return claim;
}

function checkCertificate(record) {
  if (get(record, "kind") !== "plan-certificate") {
    const claim = checkStatement("This certificate", record);
    return claim && [claim];
  }
  const draws = read("draws", get(record, "draws")).map((draw) => fields(draw, "name certificate"));
  const names = draws.map((draw) => field(draw, "name", "text"));
  need(new Set(names).size === names.length, "Two queries have the same name.");
  const claims = draws.map((r) => checkStatement(`Query ${show(r.name)}`, r.certificate));
  return attempt("The sum of the budgets", () => checkSum(record, claims));
}

function checkSum(record, claims) {
  const plan = fields(record, "kind version epsilon delta rule draws", "releases rho");
  const [releases, isDraw] = [plan.releases ?? 1, (c) => c.kind === "certificate"];
  const isSummed = (c) => plan.rule === BASIC || !isDraw(c);
  const summed = plan.draws.map((r) => r.certificate).filter(isSummed);
  const spent = (c, part) => number(c[part]).mul(isDraw(c) ? 1 : releases);
  const left = (part) => plan[part].sub(sum(summed.map((c) => spent(c, part))));
  const [epsilon, delta] = ["epsilon", "delta"].map(left);
  const more = "The queries spend more than the plan promises.";
  need(atMost(0, epsilon) && atMost(0, delta) && less(plan.delta, 1), more);
  expect(claims.every(Boolean), "not all queries are proved");
  const draws = claims.filter(isDraw);
  const alike = releases === 1 || draws.every((c) => c.compositions === releases);
  const fits = alike && !differs(claims.map((c) => c.neighbours));
  need(fits, "Queries are about other numbers of releases, or different neighbours.");
  const isGaussian = (c) => c.name === "gaussian";
  const squareOf = (c) => fact(c.s, "square").mul(c.draws).div(c.p.scale.mul(c.p.scale));
  const square = () => sum(draws.map(squareOf));
  if ("rho" in plan) {
    need(claims.every(isGaussian), "The plan has a rho, but noise that is not Gaussian.");
    need(atMost(square(), plan.rho.mul(2)), "The queries spend more rho than the plan promises.");
  }
  if (plan.rule === TIGHT) {
    expect(draws.every(isGaussian), "tight composition of several laws");
    need(draws.length && isWithin(gaussian(square(), epsilon), delta), more);
  }
  const guarantee = `(${plain(record.epsilon)}, ${plain(record.delta)})-private, by ${plan.rule}`;
  say(`PROVED: ${claims.length} queries in ${releases} release(s) are ${guarantee}.`);
  return claims;
}

function deviations({ name, p = {}, d = 0, geometry, grid }) {
  let [variances, form] = [[], p.body ?? [""]];
  if (form[0] === "cells" && form[2].length === 1) form = form[2][0];
  const scale = p.scale?.float() ** 2;
  if (["gaussian", "laplace"].includes(name) && geometry === null) {
    variances = [scale * (name === "laplace" ? 2 : 1)];
  } else if (name === "discrete-staircase") {
    const w = p.masses;
    const squares = wholes(w.map((x, k) => 2n * BigInt(k * k) * x));
    const moment = over(squares, 2n * wholes(w) - w[0]).float();
    variances = [(scale / p.cells ** 2) * moment];
  } else if (form[0] === "box" && d <= 60 && (!p.decay || less(over(1n, 20n), p.decay))) {
    let [q, ratio] = [form[1], 1];
    if (p.decay) {
      const [gamma, decay] = [p.gamma.float(), p.decay.float()];
      const weigh = (n) => (_, k) => (k + gamma) ** n * Math.exp(-decay * k);
      const moment = (n) => total(Array.from({ length: 10_000 }, weigh(n)));
      ratio = moment(d + 2) / moment(d) / ((d + 1) * (d + 2));
    }
    variances = form[2].map((a) => (scale * ratio * (q + 1) * (q + 2) * a.float() ** 2) / 3);
  }
  const width = grid ? grid.float() : 0;
  return variances.flatMap((v) => [Math.sqrt(v), Math.sqrt(v + (width * width) / 12)]);
}

function checkDeviations(folder, plan, claims) {
  const names = plan.noisy_parts.map(({ name }) => name);
  for (const part of plan.noisy_parts) {
    const { name } = part;
    const [known, texts] = [deviations(claims.get(name) ?? {}), []];
    const several = names.indexOf(name) !== names.lastIndexOf(name);
    const sums = words("margins cumulative levels").some((x) => x in part);
    const [dimension, cells] = words("dimension cells").map((x) => field(part, x, WHOLE, 0n));
    const mixed = known.length <= 2 && dimension !== cells;
    if (!known.length || several || sums || mixed) continue;
    for (const error of field(part, "errors", "list")) {
      const statistic = field(error, "statistic", "text");
      if (!["count", "count_units"].includes(statistic)) continue;
      const stated = [get(error, "std"), ...statedIn(rowsOf(folder, name), statistic)];
      texts.push(...stated.map((x) => (isText(x) ? x : dumps(x))));
    }
    const stated = [...new Set(texts)].map((x) => number(x).float());
    const fits = (x) => known.some((y) => Math.abs(x - y) <= 1e-6 * Math.max(x, y));
    need(stated.every(fits), `A standard deviation of ${show(name)} does not fit its noise.`);
    say(`CHECKED: ${texts.length} standard deviations of counts in ${show(name)}.`);
  }
}

function rowsOf(folder, name) {
  const table = (ending) => decode(content(folder, `${name}.${ending}`, 2 ** 30));
  if (folder.has(`${name}.csv`)) return readCsv(table("csv"));
  const rows = folder.has(`${name}.json`) ? loads(table("json")) : [];
  const fits = isList(rows) && rows.every(isObject);
  need(fits, `"${name}.json" is no list of rows.`);
  return rows;
}

function statedIn(rows, statistic) {
  const names = Object.keys(rows[0] ?? {});
  if (names.slice(0, 3).join() === "STRUCTURE,STRUCTURE_ID,ACTION") {
    const about = rows.filter((row) => get(row, "STATISTIC") === statistic);
    return about.map((row) => get(row, "STD_DEV"));
  }
  const name = `${statistic}_std`;
  const field = names.find((x) => x.startsWith(`${name}: `)) ?? name;
  return rows.map((row) => get(row, field));
}

function content(folder, name, longest = 1e7) {
  const bytes = folder.get(name);
  if (bytes && bytes.length <= longest) return bytes;
  throw new Error(`${show(name)} is missing, no plain file, or too large.`);
}

// `folder` is a Map of names to bytes. A report has no tables in it: `without` them, it says so.
function checkRelease(folder, without = false) {
  const json = (name) => parse(content(folder, `${name}.json`));
  const seal = fields(json("release"), "kind version files entry", "release chain");
  const { kind, files, entry, release: index = null } = seal;
  const isIndex = (n) => n === null || (typeof n === "bigint" && n > 0n);
  const sealed = kind === "release-record" && isObject(files);
  need(sealed && isIndex(index) && isIndex(entry), "release.json is no seal.");
  const listed = Object.keys(files);
  const absent = listed.filter((name) => without && !folder.has(name));
  for (const name of listed) {
    const inside = /^(?!\.\.?$)[^/\\:\0]+$/.test(name);
    need(inside, `The seal names ${show(name)}, which is not in the folder.`);
    if (absent.includes(name)) continue;
    const digest = sha256(content(folder, name, 2 ** 30));
    need(digest === files[name], `${show(name)} was changed: its SHA-256 is another.`);
  }
  say(`SEAL: ${listed.length - absent.length} files have the SHA-256 that release.json states.`);
  const missing = absent.map(show).join(", ");
  if (missing) say(`NOT CHECKED: files that this page does not hold: ${missing}.`);
  const texts = ["certificate.json", "plan.json", "spec.toml"];
  const [certificate, plan] = [json("certificate"), json("plan")];
  const parts = field(plan, "noisy_parts", "list");
  const more = ["quantiles", "keys"].flatMap((name) => field(plan, name, "list", []));
  const names = [...parts, ...more].map((part) => field(part, "name", "text"));
  const tables = listed.filter((name) => !texts.includes(name));
  const stems = tables.map((name) => name.slice(0, Math.max(0, name.lastIndexOf("."))));
  const alike = (a, b) => same([...new Set(a)].sort(), [...new Set(b)].sort());
  const workbook = same(tables, ["tables.xlsx"]);
  const fits = texts.every((name) => name in files) && (workbook || alike(stems, names));
  need(fits, "The seal is about other files than the plan's tables.");
  const inside = (plan) => field(plan, "draws", "list").map((x) => field(x, "certificate", OBJECT));
  const plans = inside(certificate).flatMap((claim) => field(claim, "plans", "list", []));
  const law = (name, noise, drawn) =>
    key([name, number(get(noise, "scale")), number(get(drawn, "grid"))]);
  const laws = [certificate, ...plans].flatMap(inside).map((c) => {
    const draw = field(c, "kind", "text").startsWith("thr") ? field(c, "noise", OBJECT) : c;
    if (field(draw, "kind", "text") !== "certificate") return null;
    const noise = field(draw, "noise", OBJECT);
    return law(field(noise, "name", "text"), field(noise, "parameters", OBJECT), draw);
  });
  const drawn = parts.every((part) => laws.includes(law(field(part, "noise", "text"), part, part)));
  need(drawn, "plan.json states other noise than the certificate.");
  const ruled = ["version", "rule", "rho"].every((x) => get(plan, x) === get(certificate, x));
  const equal = (x) => same(number(get(plan, x)), number(get(certificate, x)));
  const agree = ruled && equal("epsilon") && equal("delta");
  need(agree, "plan.json states another budget or rule than the certificate.");
  const planned = field(field(plan, "series", OBJECT, { releases: 1n }), "releases", WHOLE);
  const composed = field(certificate, "releases", WHOLE, 1n);
  const placed = planned === 1n ? index === null : index !== null && index <= planned;
  const known = 1n <= composed && composed <= planned && placed;
  need(known, "The seal names a release that the series does not have.");
  const [neighbours, unit] = [get(plan, "neighbours"), field(plan, "unit", "text")];
  read("neighbours", neighbours);
  need(unit, "plan.json has an empty unit.");
  say(`ASSUMED: "one person" below means one ${show(unit)}, as plan.json says.`);
  if (composed < planned) say(`ASSUMED: it is in ${composed} of the ${planned} releases at most.`);
  if (workbook) say("NOT CHECKED here: the tables in tables.xlsx.");
  const claims = checkCertificate(certificate);
  if (!claims) return false;
  const stated = [neighbours, ...claims.map((c) => c.neighbours)];
  need(!differs(stated), "plan.json states other neighbours than the certificate.");
  const pairs = claims.map((c, i) => [certificate.draws[i].name, c]);
  checkDeviations(folder, plan, new Map(pairs));
  return true;
}

const NOT_PROVED = `NOT CHECKED here: that one person moves the numbers by no more than is assumed
above, and that tables, plan and specification agree in all else (\`leastnoise verify\` derives both
from spec.toml); that the noise was drawn as stated; signatures and ledgers; that nobody saw how
long anything took.`;

// By exit code.
const VERDICTS = [
  "All draws are proved.",
  "Rejected: something is false.",
  "This is no certificate and no release.",
  "Nothing that was checked is false, but not all draws are proved.",
];

// The exit code for a release, or for the one certificate that a Map holds.
function main(folder, without = false) {
  let [code, verdict] = [3, "The rest was not checked."];
  try {
    const [name] = folder.keys();
    const proved = folder.size > 1 || name === "release.json"
      ? checkRelease(folder, without) : checkCertificate(parse(content(folder, name)));
    code = proved ? 0 : 3;
    verdict = VERDICTS[code];
  } catch (error) {
    const { message } = error;
    if (error instanceof Rejected) {
      say(`REJECTED: ${message}`);
      return 1;
    }
    if (!(error instanceof NotChecked)) {
      say(`This is no certificate and no release: ${error.name}, ${show(message)}`);
      return 2;
    }
    say(`NOT CHECKED here: ${message}.`);
  }
  NOT_PROVED.split("\n").forEach(say);
  say(verdict);
  return code;
}
