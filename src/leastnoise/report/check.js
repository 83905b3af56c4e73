// The checker of leastnoise for browsers and Node: leastnoise_check.py, function by function.
//
// The page of mathematics stands in that file, and so does the proof of each formula. Exact numbers
// are Fractions of BigInts; whole numbers up to 2^53 are Numbers; each `Ball` is rounded outward.
// Nothing here asks a network, and nothing writes but `output.say`, one line of ASCII at a time.
"use strict";

class Rejected extends Error {} // A statement is false or malformed.
class NotChecked extends Error {} // The statement may be true, but here is no proof for it.

const output = { say: () => {} };

function require(holds, why, Kind = Rejected) { if (!holds) throw new Kind(why); }

// 0. What Python has and JavaScript lacks: exact fractions, JSON of exact numbers, SHA-256.

const bitLength = (n) => (n ? (n < 0n ? -n : n).toString(2).length : 0);
const floorDiv = (a, b) => (a % b !== 0n && a < 0n !== b < 0n ? a / b - 1n : a / b);
const ceilDiv = (a, b) => -floorDiv(-a, b);
const sum = (items) => items.reduce((total, item) => total.plus(item), Fraction.of(0));
const total = (numbers) => numbers.reduce((a, b) => a + b, 0);
const most = (items) => items.reduce((a, b) => (less(a, b) ? b : a));
const less = (a, b) => Fraction.of(a).minus(b).n < 0n;
const atMost = (a, b) => !less(b, a);
const same = (a, b) => key(a) === key(b);
const words = (text) => text.split(" ").filter(Boolean);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

class Fraction {
  constructor(n, d = 1n) {
    if (d === 0n) throw new RangeError("division by zero");
    [this.n, this.d] = d < 0n ? [-n, -d] : [n, d];
    if (bitLength(this.d) > 1000) this.reduce();
  }
  static of(x) { return x instanceof Fraction ? x : new Fraction(BigInt(x)); }
  reduce() {
    let [a, b] = [this.n < 0n ? -this.n : this.n, this.d];
    while (b) [a, b] = [b, a % b];
    [this.n, this.d] = [this.n / a, this.d / a];
    return this;
  }
  plus(other) {
    const { n, d } = Fraction.of(other);
    return d === this.d ? new Fraction(this.n + n, d) : new Fraction(this.n * d + n * this.d, d * this.d);
  }
  minus(other) {
    const { n, d } = Fraction.of(other);
    return this.plus(new Fraction(-n, d));
  }
  times(other) {
    const { n, d } = Fraction.of(other);
    return new Fraction(this.n * n, this.d * d);
  }
  by(other) {
    const { n, d } = Fraction.of(other);
    return new Fraction(this.n * d, this.d * n);
  }
  floor() { return floorDiv(this.n, this.d); }
  ceil() { return ceilDiv(this.n, this.d); }
  isWhole() { return this.n % this.d === 0n; }
  float() {
    const shift = bitLength(this.n) - bitLength(this.d) - 64;
    const bits = shift < 0 ? (this.n << BigInt(-shift)) / this.d : this.n / (this.d << BigInt(shift));
    return Number(bits) * 2 ** shift;
  }
}

// A text that is the same for equal exact numbers, texts and lists of them.
function key(value) {
  if (Array.isArray(value)) return `(${value.map(key).join()})`;
  if (!(value instanceof Fraction)) return String(value);
  const { n, d } = new Fraction(value.n, value.d).reduce();
  return d === 1n ? `${n}` : `${n}/${d}`;
}

// Python's format ".6g" and the like.
function general(x, digits) {
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  const strip = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const e = Number(exponent);
  if (-4 <= e && e < digits) return strip(x.toFixed(digits - 1 - e));
  return `${strip(mantissa)}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
}

// Python's json.loads: whole numbers become BigInts, and a field that stands twice is rejected.
function loads(text) {
  let at = 0;
  const fail = () => {
    throw new SyntaxError(`no JSON at letter ${at}`);
  };
  const take = (pattern) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at = pattern.lastIndex;
    return match && match[0];
  };
  const blank = () => take(/[ \t\n\r]*/y);
  const sign = (letter) => text[at] === letter && ++at;
  const quoted = () => JSON.parse(take(/"(?:[^"\\\x00-\x1f]|\\.)*"/y) ?? fail());
  const list = (end, item) => {
    for (blank(); !sign(end); blank()) {
      item();
      blank();
      if (sign(end)) return;
      if (!sign(",")) fail();
      blank();
      if (text[at] === end) fail();
    }
  };
  function value(depth) {
    if (depth > 900) fail();
    blank();
    if (sign("[")) {
      const items = [];
      list("]", () => items.push(value(depth + 1)));
      return items;
    }
    if (sign("{")) {
      const record = Object.create(null);
      list("}", () => {
        const name = quoted();
        require(!(name in record), "A field stands twice.");
        blank();
        if (!sign(":")) fail();
        record[name] = value(depth + 1);
      });
      return record;
    }
    if (text[at] === '"') return quoted();
    const word = take(/(?:true|false|null|NaN|-?Infinity|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)/y);
    if (word === null) fail();
    if (/^-?\d+$/.test(word)) return word.length > 4300 ? fail() : BigInt(word);
    return { true: true, false: false, null: null }[word] ?? (word === "null" ? null : Number(word));
  }
  const result = value(0);
  blank();
  return at === text.length ? result : fail();
}

// Python's json.dumps.
function dumps(value) {
  if (Array.isArray(value)) return `[${value.map(dumps).join(", ")}]`;
  if (isObject(value)) {
    const parts = Object.entries(value).map(([name, part]) => `${dumps(name)}: ${dumps(part)}`);
    return `{${parts.join(", ")}}`;
  }
  if (typeof value !== "string") return String(value);
  const hex = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g, hex);
}

function sha256(bytes) {
  const root = (n, power) => Math.floor((n ** power % 1) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const [k, h] = [primes.map((p) => root(p, 1 / 3)), primes.slice(0, 8).map((p) => root(p, 1 / 2))];
  const rest = bytes.length % 64;
  const end = new Uint8Array(rest < 56 ? 64 : 128);
  end.set(bytes.subarray(bytes.length - rest));
  end[rest] = 128;
  new DataView(end.buffer).setBigUint64(end.length - 8, BigInt(bytes.length) * 8n);
  const [w, turn] = [new Int32Array(64), (x, n) => (x >>> n) | (x << (32 - n))];
  const add = (view, at) => {
    for (let i = 0; i < 64; i++) {
      if (i < 16) {
        w[i] = view.getInt32(at + 4 * i);
        continue;
      }
      const [a, b] = [w[i - 15], w[i - 2]];
      const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      w[i] = w[i - 16] + low + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, x] = h;
    for (let i = 0; i < 64; i++) {
      const one = (x + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i]) | 0;
      const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [x, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, x].forEach((y, i) => (h[i] = (h[i] + y) | 0));
  };
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at < bytes.length - rest; at += 64) add(view, at);
  for (let at = 0; at < end.length; at += 64) add(new DataView(end.buffer), at);
  return h.map((y) => (y >>> 0).toString(16).padStart(8, "0")).join("");
}

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
  "row-counts": "bound neighbours", added: "of", groups: "", vertices: "",
  "sums-of-cells": "", "counting-queries": "bound dimension max_nonzero neighbours with_total",
};
const GEOMETRIES = {
  cells: "count", "count-ellipse": "queries shared offset total", blocks: "", matrix: "",
};
const STATEMENTS = {
  certificate: "version epsilon delta noise dimension sensitivity geometry compositions " +
    "sampling_rate delta_interval grid assumptions",
  "threshold-certificate": "version epsilon delta neighbours assumptions noise threshold reach " +
    "chance_below coordinate",
  "quantile-certificate": "version epsilon delta neighbours assumptions levels rates nested " +
    "candidates parts groups reach",
  "keys-certificate": "",
};
const each = (names, value) => Object.fromEntries(words(names).map((name) => [name, value]));
const SMALLEST = new Fraction(1n, 10n ** 300n);
const [LENGTH, COUNT] = [[new Fraction(1n, 10n ** 140n), 10n ** 140n], [1, 1e6]];
const NUMBERS = {
  ...each("scale bound bounds radii reach rates", LENGTH),
  ...each("delta sampling_rate chance_below shares levels atom", [0, 1]),
  ...each("delta_interval threshold offset", [-(10n ** 300n), 10n ** 300n]),
  epsilon: [0, 1e5], gamma: [LENGTH[0], 1], decay: [new Fraction(1n, 1000n), 1e6],
  radius: [new Fraction(1n, 10n ** 12n), 1e5], shared: [-1, 1e9], total: [0, 1e9],
};
const WHOLES = {
  ...each("dimension cells copies coordinates queries most l0 groups", COUNT),
  ...each("branches count max_nonzero", COUNT), coordinate: [0, 1e6],
  ...each("compositions candidates", [1, 2 ** 53]), releases: [2, 2 ** 53],
  masses: [0, 2n ** 20_000n],
};
const WORDS = {
  ...each("whole with_total nested", [true, false]), rule: [BASIC, TIGHT],
  version: [1n], neighbours: ["add-remove", "replace-one"],
};
const LISTS = new Set(
  words("bounds radii masses branches shares copies levels rates bodies delta_interval blocks"),
);

// Python's ascii: no control character, and no letter that turns others, reaches the page.
function show(value) {
  const text = typeof value === "string" ? value : dumps(value).slice(0, 200);
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escape = (letter) => {
    const known = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}` };
    const hex = letter.codePointAt(0).toString(16);
    const [mark, digits] = hex.length <= 2 ? ["x", 2] : hex.length <= 4 ? ["u", 4] : ["U", 8];
    return known[letter] ?? `\\${mark}${hex.padStart(digits, "0")}`;
  };
  const inner = text.slice(0, 600).replace(/[^ !#-&(-[\]-~"']|["']/gu, (letter) =>
    /["']/.test(letter) && letter !== quote ? letter : escape(letter),
  );
  return `${quote}${inner}${quote}`.slice(0, 300);
}

function number(text) {
  const spelled = typeof text === "string" && text.length <= 1300 ? text : "no number";
  const why = `Expected a number as text, got ${show(text)}.`;
  if (/^-?0x0\.0p\+0$/.test(spelled)) return Fraction.of(0);
  const hex = /^(-?)0x([01])\.([0-9a-f]{13})p(\+0|[-+][1-9]\d{0,3})$/.exec(spelled);
  if (hex) {
    const [n, e] = [BigInt(`0x${hex[2]}${hex[3]}`), Number(hex[4])];
    require(hex[2] === "1" ? -1022 <= e && e <= 1023 : n > 0n && e === -1022, why);
    const exact = e < 52 ? new Fraction(n, 1n << BigInt(52 - e)) : Fraction.of(n << BigInt(e - 52));
    return (hex[1] ? exact.times(-1) : exact).reduce();
  }
  const pattern = /^([-+]?)(?=\d|\.\d)(\d*)(?:\/(\d+)|(?:\.(\d*))?(?:[eE]([-+]?\d{1,4}))?)$/;
  const match = pattern.exec(spelled);
  require(match && !/^0+$/.test(match[3] ?? "1"), why);
  const [, sign, whole, below, decimals = "", exponent = "0"] = match;
  const e = BigInt(exponent) - BigInt(decimals.length);
  const n = BigInt(sign + "1") * BigInt(whole + decimals) * 10n ** (e > 0n ? e : 0n);
  const exact = new Fraction(n, BigInt(below ?? 1) * 10n ** (e < 0n ? -e : 0n)).reduce();
  const size = exact.n < 0n ? exact.times(-1) : exact;
  const fits = Math.max(bitLength(exact.n), bitLength(exact.d)) <= 2000;
  require(fits && (!exact.n || (atMost(SMALLEST, size) && atMost(size, 10n ** 300n))), why);
  return exact;
}

function read(name, value, item = false) {
  if (LISTS.has(name) && !item) {
    require(Array.isArray(value) && value.length, `Expected a list for ${name}.`);
    require(value.length <= 50_000, `a list of ${value.length} items`, NotChecked);
    return value.map((part) => read(name, part, true));
  }
  const [wrong, large] = [() => `${name} = ${show(value)} is no such number.`, "which is so large"];
  if (name in NUMBERS) {
    const [exact, [low, high]] = [number(value), NUMBERS[name]];
    const above = less(0, low) ? exact.n > 0n : atMost(low, exact);
    require(above && (atMost(exact, high) || less(1, high)), wrong());
    const usual = atMost(low, exact) && atMost(exact, high);
    require(usual, `${name} = ${show(value)}, so small or large`, NotChecked);
    return exact;
  }
  if (name in WHOLES) {
    const [low, high] = WHOLES[name];
    if (typeof value !== "bigint" || value < low) throw new Rejected(wrong());
    if (value > high) throw new NotChecked(`${name} = ${show(value)}, ${large}`);
    return name === "masses" ? value : Number(value);
  }
  if (name in WORDS) {
    const why = () => `${name} = ${show(value)} is none of ${show(WORDS[name])}.`;
    require(WORDS[name].includes(value), why());
  }
  return ["body", "hull", "bodies"].includes(name) ? shape(value, BODIES) : value;
}

function fields(record, names, optional = "") {
  require(isObject(record), "Expected a JSON object.");
  if (isObject(names)) {
    const kind = record.kind;
    require(typeof kind === "string" && Object.hasOwn(names, kind), `Unknown kind ${show(kind)}.`);
    require(names[kind], `the kind ${kind}`, NotChecked);
    names = `kind ${names[kind]}`;
  }
  const [needed, known] = [words(names), new Set(words(`${names} ${optional}`))];
  const fits = needed.every((name) => name in record);
  require(fits && Object.keys(record).every((name) => known.has(name)), `Expected the fields ${names}.`);
  return Object.fromEntries(Object.keys(record).map((name) => [name, read(name, record[name])]));
}

// A convex set: [kind, dimension, nesting, its fields].
function shape(record, kinds) {
  const r = fields(record, kinds);
  require((r.exponent ?? "infinity") === "infinity" && r.exponent !== null, "shapes with an exponent", NotChecked);
  const kind = r.kind;
  let parts = r.bodies ?? [];
  if ("of" in r || "parts" in r) {
    parts = "of" in r ? [r.of] : r.parts;
    require(Array.isArray(parts) && parts.length, "Expected a list of parts.");
    parts = parts.map((part) => shape(part, kind === "at-most" ? BODIES : ADDED));
    r["of" in r ? "of" : "parts"] = parts;
  }
  const [copies, radii] = [r.copies ?? parts.map(() => 1), r.radii ?? parts.map(() => 1)];
  const [cells, moved] = [r.cells ?? r.queries ?? 1, r.most ?? 1];
  const fits = copies.length === parts.length && radii.length === parts.length;
  const wide = radii.every((radius) => atMost(1, radius)) && moved <= cells;
  require(fits && wide, `The fields of ${kind} do not fit each other.`);
  const inner = parts.length ? total(parts.map((part, i) => part[1] * copies[i])) : (r.bounds ?? "1").length;
  const dimension = inner * cells * (r.coordinates ?? 1) + (kind === "counted" ? 1 : 0);
  const nesting = 1 + Math.max(0, ...parts.slice(0, 1).map(() => most(parts.map((part) => part[2]))));
  const few = dimension <= 1e6 && (moved === cells || moved * dimension <= 1e6);
  require(few && nesting <= 6, "shapes nested so deep, or of so many numbers", NotChecked);
  if (kind === "interval") return ["box", 1, 1, [r.bound]];
  return [kind, dimension, nesting, ...words(kinds[kind]).map((name) => r[name])];
}

const decode = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

function parse(bytes) {
  const record = loads(decode(bytes));
  require(isObject(record), "Expected a JSON object.");
  return record;
}

// 2. Balls.

const UNIT = 1n << 512n;

function isqrt(n) {
  if (n < 0n) throw new RangeError("the square root of a negative number");
  let root = 1n << BigInt((bitLength(n) >> 1) + 1);
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

class Ball {
  constructor(low, high) { [this.low, this.high] = [low, high]; }
  static of(value) {
    const { n, d } = Fraction.of(value);
    return new Ball(floorDiv(n * UNIT, d), ceilDiv(n * UNIT, d));
  }
  plus(other) { return new Ball(this.low + other.low, this.high + other.high); }
  minus(other) { return new Ball(this.low - other.high, this.high - other.low); }
  times(other) {
    const ends = [this.low * other.low, this.low * other.high, this.high * other.low, this.high * other.high];
    const [low, high] = [ends.reduce((a, b) => (b < a ? b : a)), ends.reduce((a, b) => (b > a ? b : a))];
    return new Ball(low >> 512n, -(-high >> 512n));
  }
  by(other) {
    require(other.low > 0n, "a division by a number next to 0", NotChecked);
    const [low, high] = [this.low < 0n ? other.low : other.high, this.high < 0n ? other.high : other.low];
    return new Ball(floorDiv(this.low * UNIT, low), ceilDiv(this.high * UNIT, high));
  }
  over(n) { return new Ball(floorDiv(this.low, BigInt(n)), ceilDiv(this.high, BigInt(n))); }
  sqrt() { return new Ball(isqrt(this.low * UNIT), isqrt(this.high * UNIT) + 1n); }
  size() { return -this.low > this.high ? -this.low : this.high; }
}

const [ZERO, ONE, HALF] = [new Ball(0n, 0n), Ball.of(1), Ball.of(new Fraction(1n, 2n))];

function exp(x) {
  const at = (end) => {
    if (end < -1000n * UNIT) return new Ball(0n, 1n);
    require(end <= UNIT << 17n, "an exponent above 131,072", NotChecked);
    const halvings = Math.max(0, bitLength(end) - 512 + 8);
    const y = new Ball(end >> BigInt(halvings), -(-end >> BigInt(halvings)));
    let [result, term] = [ONE, ONE];
    for (let n = 0; term.size() > 1n; n++) {
      term = term.times(y).over(n + 1);
      result = result.plus(term);
    }
    result = result.plus(new Ball(-2n, 2n));
    for (let i = 0; i < halvings; i++) result = result.times(result);
    return result;
  };
  const [low, high] = [at(x.low).low, at(x.high).high];
  return new Ball(low > 0n ? low : 0n, high);
}

function pi() {
  const arctan = (n) => {
    let [result, power] = [ZERO, ONE.over(n)];
    for (let k = 1; power.high > 1n; k += 2) {
      result = k % 4 === 1 ? result.plus(power.over(k)) : result.minus(power.over(k));
      power = power.over(n * n);
    }
    return result.plus(new Ball(-2n, 2n));
  };
  return Ball.of(16).times(arctan(5)).minus(Ball.of(4).times(arctan(239)));
}

function normal(x) {
  require(x.size() <= 40n * UNIT, "a Gaussian law so far out", NotChecked);
  const square = x.times(x);
  let [term, result] = [x, x];
  for (let n = 3; term.size() > 1n || square.high > BigInt(n >> 1) * UNIT; n += 2) {
    term = term.times(square).over(n);
    result = result.plus(term);
  }
  const scale = exp(square.times(HALF)).times(pi().plus(pi()).sqrt());
  return HALF.plus(result.plus(new Ball(-2n, 2n)).by(scale));
}

// 3. How far one person moves the numbers.

class Shifts {
  constructor(known) { this.known = known; }
  get(name) {
    require(name in this.known, "this noise for shifts that are described in this way", NotChecked);
    return this.known[name];
  }
}

function hullOf(bound, moved, cells) {
  if (moved >= cells) return ["box", cells, 1, Array(cells).fill(bound)];
  const segment = hullOf(bound, 1, 1);
  if (moved === 1) return ["cells", cells, 2, [segment], [cells]];
  return ["at-most", cells, 2, moved, cells, [segment]];
}

function roundedUp(square) {
  const { n, d } = new Fraction(square.n, square.d).reduce();
  const root = isqrt(n * d);
  if (root * root === n * d) return new Fraction(root * root, d * d);
  const above = new Fraction(isqrt((n * d) << 128n) + 1n, d << 64n);
  return above.times(above);
}

function shiftsOf(record, d) {
  const r = fields(record, SENSITIVITIES);
  const [kind, b, neighbours] = [r.kind, r.bound ?? Fraction.of(1), r.neighbours ?? null];
  const [replaced, wholly] = [neighbours === "replace-one", ["integer", "row-counts"].includes(kind) || (r.whole ?? false)];
  let [numbers, moved] = [d, Math.min(r.l0 ?? 1, d)];
  require(b.isWhole() || !wholly, "Whole shifts have a whole bound.");
  const square = b.times(b);
  let s = { neighbours, square: square.times(moved), hull: hullOf(b, moved, d) };
  if (moved === 1 && (kind !== "l2" || d === 1)) s.l1 = b;
  if (wholly) s.rows = [b.times(moved), replaced];
  if (wholly && d === 1) s.whole = b;
  if (kind === "integer") {
    numbers = 1;
  } else if (kind === "l2" && d > 1) {
    s.hull = ["ball", d, 1, b, d];
  } else if (kind === "row-counts" && replaced && d > 1) {
    const counts = ["counts", d, 1, d, 1, b];
    s = { neighbours, square: square.times(2), rows: s.rows, hull: ["differences", d, 2, [counts]] };
  } else if (kind === "counting-queries") {
    const [q, k, n] = [r.dimension, r.max_nonzero, r.with_total ? 1 : 0];
    [numbers, moved] = [q + n, replaced ? Math.min(2 * k, q) : k];
    require(k <= q && !(replaced && n), "More queries than there are, or a replaced total.");
    let counts = ["counts", q, 1, q, k, b];
    if (n) counts = ["counted", q + 1, 2, [counts], Fraction.of(1)];
    s = { neighbours, square: square.times(moved).plus(n), hull: hullOf(b, k, q) };
    if (moved + n === 1) s.l1 = b;
    if (!replaced) s.added = counts;
    if (n || (replaced ? k < q : k > 1)) {
      s.hull = [replaced ? "differences" : "signed", q + n, 2 + n, [counts]];
    }
  } else if (kind === "within") {
    [s, numbers] = [{ neighbours: null, hull: r.hull }, r.hull[1]];
  } else if (kind === "added") {
    const added = shape(r.of, ADDED);
    numbers = added[1];
    s = { neighbours: "add-remove", added, hull: ["signed", numbers, 1 + added[2], [added]] };
  }
  require(numbers === d, "The sensitivity is of another number of numbers.");
  if ("square" in s) s.square = roundedUp(s.square);
  return new Shifts(s);
}

function longestImage(r, w) {
  const [q, b, k, n] = [r.dimension, r.bound, r.max_nonzero, r.with_total ? 1 : 0];
  require(q <= 20_000, "so many counting queries", NotChecked);
  const corners = [];
  if (r.neighbours === "replace-one") {
    for (let m = 0; m <= Math.min(2 * k, q); m++) {
      for (const t of [Math.min(m, 2 * k - m), m % 2]) corners.push([(m + t) / 2, (m - t) / 2]);
    }
  } else for (let i = 0; i <= k; i++) corners.push([i, 0]);
  let worst = Fraction.of(0);
  for (const [i, j] of corners) {
    const lean = w.shared.times(b).times(i - j).plus(w.offset.times(n));
    const entries = [[i, b.plus(lean)], [j, lean.minus(b)], [q - i - j, lean], [n, w.total]];
    worst = most([worst, sum(entries.map(([times, x]) => x.times(x).times(times)))]);
  }
  return worst;
}

function through(claim) {
  const [record, d, draws] = [claim.sensitivity, claim.dimension, BigInt(claim.compositions)];
  const s = shiftsOf(record, d);
  if (claim.geometry === null) return [s, d, draws];
  const [g, r] = [fields(claim.geometry, GEOMETRIES), fields(record, SENSITIVITIES)];
  if (g.kind === "cells") {
    require(r.kind === "linf" && g.count === d, "Other cells than the shifts have.");
    const alone = { kind: r.whole ? "integer" : "l2", bound: record.bound };
    return [shiftsOf(alone, 1), 1, draws * BigInt(Math.min(r.l0, d))];
  }
  const counting = r.kind === "counting-queries" && g.queries === r.dimension;
  const fits = counting && g.total.n > 0n === r.with_total && (g.total.n || !g.offset.n);
  require(fits && less(-1, g.shared.times(g.queries)), "The geometry does not fit the shifts.");
  return [new Shifts({ square: longestImage(r, g), neighbours: r.neighbours }), d, draws];
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
  const { shares } = p;
  let { branches } = p;
  const [nodes, product] = [[1], (items) => items.reduce((a, b) => a * b, 1)];
  require(1 < shares.length && shares.length <= 13, "No levels, or too many.");
  if (branches.length === shares.length - 1 && product(branches) <= 1 << 16) {
    branches = branches.flatMap((b, i) => Array(product(branches.slice(0, i))).fill(b));
  }
  for (let level = 1; level < shares.length; level++) {
    const first = total(nodes.slice(0, -1));
    nodes.push(total(branches.slice(first, first + nodes.at(-1))));
  }
  const tree = nodes.at(-1) === d && d <= 1 << 16 && total(nodes.slice(0, -1)) === branches.length;
  const whole = atMost(sum(shares), 1) && shares.at(-1).n > 0n;
  const fine = (share) => share.n > 0n && less(share.times(2 ** 32), p.scale);
  const fits = tree && whole && !shares.some(fine);
  require(fits, "The branches are no tree of these numbers, or the shares are more than 1.");
  const [steps, moved] = s.get("rows");
  const apart = nodes.findIndex((n) => n > 1);
  const twice = moved && apart >= 0 ? sum(shares.slice(apart)).times(2) : 0;
  return steps.times(most([sum(shares), twice])).by(p.scale);
}

function lossOf(name, p, s, d) {
  let moved;
  if (name === "laplace" || name === "staircase") {
    moved = s.get("l1").by(p.scale);
  } else if ("cells" in p) {
    const fits = Fraction.of(p.cells).by(p.scale).isWhole() && (p.core ?? 1) <= p.cells;
    require(fits, "A shift by 1 leaves the lattice of the noise.");
    moved = s.get("whole").by(p.scale);
  } else if ("body" in p || "of" in p) {
    const form = p.body ?? shape(p.of, ADDED);
    require(form[1] === d, "The noise is of another number of numbers.");
    const around = "core" in p && !("decay" in p);
    const hidden = around ? ["signed", d, 1 + form[2], [form]] : form;
    const known = s.get("of" in p && "decay" in p ? "added" : "hull");
    require(same(hidden, known), "noise in another shape than the shifts", NotChecked);
    moved = Fraction.of(1).by(p.scale);
  } else return name === "agreeing" ? onTree(p, s, d) : null;
  return "decay" in p ? p.decay.times(moved.ceil()) : "masses" in p ? null : moved;
}

function gaussian(square, epsilon) {
  const r = Ball.of(square).sqrt();
  const away = Ball.of(epsilon).by(r);
  const beyondIt = exp(Ball.of(epsilon)).times(normal(ZERO.minus(r.times(HALF)).minus(away)));
  return normal(r.times(HALF).minus(away)).minus(beyondIt);
}

function truncatedLaplace(t, a, epsilon) {
  const [minus, two] = [a.times(-1), Fraction.of(2)];
  const low = exp(Ball.of(minus));
  const below = (x) => {
    if (x.n > 0n) return ONE.minus(below(x.times(-1)));
    return atMost(x, minus) ? ZERO : exp(Ball.of(x)).minus(low).times(HALF).by(ONE.minus(low));
  };
  const y = less(epsilon, t) ? most([t.minus(a), t.minus(epsilon).by(two)]) : t.minus(a);
  if (atMost(a.times(two), t)) return ONE;
  return below(y).minus(exp(Ball.of(epsilon)).times(below(y.minus(t))));
}

function truncatedSteps(t, p, epsilon) {
  const [gamma, { radius, decay }] = [p.gamma ?? new Fraction(1n, 2n), p];
  const [q, w, half] = [exp(Ball.of(decay.times(-1))), Ball.of(p.atom ?? 0), t.by(2)];
  const short = atMost(t, 1) && less(half, radius);
  require(short, "shifts of more than a step, or beyond the noise", NotChecked);
  const mass = (x) => {
    const n = x.minus(gamma).floor();
    if (atMost(x, gamma)) return Ball.of(x);
    const last = exp(Ball.of(decay.times(-n - 1n)));
    const steps = q.minus(last).by(ONE.minus(q)).plus(Ball.of(x.minus(gamma).minus(n)).times(last));
    return Ball.of(gamma).plus(steps);
  };
  const inside = atMost(t, radius);
  const [all, side] = [mass(radius), mass(inside ? radius.minus(t) : t.minus(radius))];
  let outside = (inside ? all.minus(side) : all.plus(side)).times(HALF).by(all);
  if (less(epsilon, decay)) {
    const seen = mass(half).by(all).minus(outside).by(ONE.minus(q));
    outside = outside.plus(seen.times(ONE.minus(exp(Ball.of(epsilon.minus(decay))))));
  }
  return w.plus(ONE.minus(w).times(outside));
}

function lattice(shift, p, epsilon) {
  const [w, factor] = [p.masses, exp(Ball.of(epsilon))];
  const [step, moves] = [Number(Fraction.of(p.cells).by(p.scale).floor()), Number(shift.floor())];
  require(w[0] > 0n, "The first weight is 0.");
  const weights = [...w.slice(1).reverse(), ...w];
  let shifts = [step * moves];
  if (w.some((x, k) => k && x > w[k - 1])) {
    require(moves * w.length <= 3e5, "so many weights that rise", NotChecked);
    shifts = Array.from({ length: moves }, (_, i) => step * (i + 1));
  }
  const sums = [factor.high, factor.low].map((e) => {
    let worst = 0n;
    for (const j of shifts) {
      let positive = 0n;
      weights.forEach((a, k) => {
        const left = a * UNIT - (k < j ? 0n : e * weights[k - j]);
        if (left > 0n) positive += left;
      });
      if (positive > worst) worst = positive;
    }
    return worst;
  });
  return new Ball(...sums).over(weights.reduce((a, b) => a + b));
}

function besselK(z) {
  const up = exp(Ball.of(new Fraction(1n, 64n)));
  let [value, zeroth, cosh] = [ONE, exp(ZERO.minus(z)).times(HALF), ONE];
  let [rise, fall, first] = [up, ONE.by(up), zeroth];
  while (value.size() > 1n) {
    cosh = rise.plus(fall).times(HALF);
    value = exp(ZERO.minus(z.times(cosh)));
    [zeroth, first] = [zeroth.plus(value), first.plus(value.times(cosh))];
    [rise, fall] = [rise.times(up), fall.by(up)];
  }
  const [rest, off] = [new Ball(0n, 2n * ((cosh.high >> 512n) + 1n)), new Ball(-1n, 1n)];
  return [zeroth.plus(rest).over(64).plus(off), first.plus(rest).over(64).plus(off)];
}

// `m` is a Number, a multiple of ½.
function cap(m, c, w) {
  const [half, floor] = [m % 1 !== 0, Math.floor(m)];
  const enough = 6n * c.size() + BigInt(2 * Math.abs(m)) * UNIT;
  const power2 = floor < 0 ? new Fraction(1n, 1n << BigInt(-floor)) : 1n << BigInt(floor);
  let [before, g] = [ZERO, Ball.of(power2).times(half ? Ball.of(2).sqrt() : ONE)];
  let [power, result] = [ONE, ZERO];
  for (let n = 0; before.size() > 16n || g.size() > 16n || BigInt(n) * UNIT < enough; n++) {
    result = result.plus(g.times(power).times(Ball.of(new Fraction(2n, BigInt(2 * (m + n + 1))))));
    const factor = Ball.of(new Fraction(BigInt(2 * (n - m)), 2n)).plus(c).plus(c);
    [before, g] = [g, factor.times(g).minus(c.times(before)).over(2 * n + 2)];
    power = power.times(w);
  }
  result = result.plus(new Ball(-100n, 100n));
  for (let i = 0; i <= floor; i++) result = result.times(w);
  return half ? result.times(w.sqrt()) : result;
}

function l2(square, d, epsilon) {
  const [r, m] = [Ball.of(square).sqrt(), (d - 3) / 2];
  const small = d <= 500 && UNIT >> 40n < r.low && r.high < 300n * UNIT;
  require(small, "l2 noise of so many numbers, so small, or so large", NotChecked);
  const [z, end] = [r.times(HALF), ONE.minus(Ball.of(epsilon).by(r))];
  let ratio = ONE;
  if (d % 2 === 0) {
    const [zeroth, first] = besselK(z);
    ratio = first.by(zeroth);
  }
  for (let twice = 2 - (d % 2); twice < d - 1; twice += 2) {
    ratio = ONE.by(ratio).plus(Ball.of(twice).by(z));
  }
  const [rho, minus] = [Ball.of(d - 1).by(z).times(ratio), ZERO.minus(z)];
  const [e, up, down] = [exp(Ball.of(epsilon)), exp(z), exp(minus)];
  let [above, whole] = [ZERO, ZERO];
  for (const [n, factor] of [[m, rho], [m + 1, ONE]]) {
    const tail = up.times(cap(n, minus, end)).minus(e.times(down).times(cap(n, z, end)));
    above = above.plus(factor.times(tail));
    whole = whole.plus(factor.times(up.times(cap(n, minus, ONE)).plus(down.times(cap(n, z, ONE)))));
  }
  return above.by(whole);
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
};

function readClaim(record, kinds = STATEMENTS) {
  const claim = fields(record, kinds, "neighbours");
  require(same(claim.sampling_rate ?? 1, 1), "releases of samples", NotChecked);
  const assumed = dumps(claim.assumptions) === dumps(ASSUMPTIONS[claim.kind]);
  const fits = assumed && claim.epsilon.plus(claim.delta).n && less(claim.delta, 1);
  require(fits, "Other assumptions than the proof has, or no budget.");
  if (claim.kind !== "certificate") return claim;
  const noise = fields(claim.noise, "name parameters");
  const name = typeof noise.name === "string" ? noise.name : "";
  require(Object.hasOwn(FAMILIES, name), `${show(name)} noise`, NotChecked);
  const [p, [s, d, draws]] = [fields(noise.parameters, FAMILIES[name]), through(claim)];
  if ("core" in p) {
    p.core = read(name === "geometric" ? "most" : "total", p.core);
    const allowed = ["geometric", "two-sided-laplace"].includes(name);
    require(allowed || atMost(1, p.core.times(1e6)), "No core.");
  }
  const single = /^(staircase|geometric|tulap|truncated.*|discrete.*)$/.test(name);
  require(single ? d === 1 : d > 1 || name !== "l2", "The noise is of another number of numbers.");
  const grid = claim.grid === null ? null : number(claim.grid);
  const isPower = (n) => (n & (n - 1n)) === 0n;
  const fine = grid === null || (grid.n > 0n && isPower(grid.n) && isPower(grid.d));
  const about = new Set([claim.neighbours ?? null, s.get("neighbours")].filter((x) => x !== null));
  require(fine && about.size < 2, "The grid is no power of two, or the neighbours differ.");
  return { ...claim, name, p, s, d, draws, grid, neighbours: [...about][0] ?? null };
}

function deltaOf(claim, draws, epsilon) {
  const { name, p, s, d } = claim;
  let [loss, square, pure] = [null, null, false];
  if (name === "gaussian" || name === "l2") {
    square = s.get("square").by(p.scale.times(p.scale));
    if (name === "gaussian") return gaussian(square.times(draws), epsilon);
    pure = atMost(square.times(draws * draws), epsilon.times(epsilon));
  } else {
    loss = lossOf(name, p, s, d);
    pure = loss !== null && atMost(loss.times(draws), epsilon);
  }
  if (pure) return ZERO;
  require(draws === 1n, `${draws} draws of ${name} noise with δ above 0`, NotChecked);
  if (name === "l2") return l2(square, d, epsilon);
  if (name === "laplace") return ONE.minus(exp(Ball.of(epsilon.minus(loss).by(2))));
  if (name === "truncated-laplace") return truncatedLaplace(s.get("l1").by(p.scale), p.radius, epsilon);
  if (["truncated-staircase", "tulap"].includes(name)) return truncatedSteps(s.get("l1").by(p.scale), p, epsilon);
  require(name === "discrete-staircase", `${name} noise with δ above 0`, NotChecked);
  return lattice(s.get("whole"), p, epsilon);
}

const bound = (ball) => general(new Fraction(ball.high, UNIT).float(), 9);
const isWithin = (ball, most) => atMost(new Fraction(ball.high, UNIT), most);

function checkDraw(claim) {
  const [delta, ends] = [deltaOf(claim, claim.draws, claim.epsilon), claim.delta_interval];
  require(isWithin(delta, claim.delta), `δ is up to ${bound(delta)}.`);
  const fits = ends.length === 2 && atMost(ends[0], new Fraction(delta.low, UNIT)) && delta.low <= delta.high;
  require(fits && isWithin(delta, ends[1]), "δ is not in the stated interval.");
  return delta;
}

function beyond(claim, t, i) {
  const { name, p } = claim;
  let c = t.by(p.scale);
  if (name === "gaussian") return normal(Ball.of(c.times(-1)));
  if (name === "discrete-staircase") {
    const [w, add] = [p.masses, (a, b) => a + b];
    const far = w.slice(Number(c.times(p.cells).floor()) + 1).reduce(add, 0n);
    return Ball.of(new Fraction(far, 2n * w.reduce(add) - w[0]));
  }
  const known = name === "laplace" || (name === "k-norm" && p.body[0] === "box");
  require(known, `a threshold for ${name} noise`, NotChecked);
  const bounds = name === "k-norm" ? p.body[3] : Array(i + 1).fill(1);
  const q = name === "k-norm" ? bounds.length : 1;
  c = c.by(bounds[i]);
  let [result, term] = [ZERO, ONE];
  for (let j = 0; j < q; j++) {
    result = result.plus(term.times(Ball.of(Fraction.of(q - j).by(q))));
    term = term.times(Ball.of(c.by(j + 1)));
  }
  return result.times(HALF).times(exp(Ball.of(c.times(-1))));
}

function checkThreshold(claim) {
  const noise = readClaim(claim.noise, { certificate: STATEMENTS.certificate });
  checkDraw(noise);
  const { grid, draws: k } = noise;
  const [coin, i] = [claim.chance_below, claim.coordinate];
  const fits = grid && noise.geometry === null && noise.neighbours === "add-remove";
  require(fits && i < noise.d && less(coin, 1), "The noise is not that of rows with a threshold.");
  require(k <= 200n, "so many groups", NotChecked);
  const [room, slack] = [claim.threshold.minus(claim.reach), new Fraction((1n << 39n) + 1n, 1n << 40n)];
  let p = ZERO;
  for (const [steps, chance] of [Fraction.of(1).minus(coin), coin].entries()) {
    const t = room.minus(grid.times(slack.plus(steps)));
    p = p.plus(Ball.of(chance).times(t.n < 0n ? ONE : beyond(noise, t, i)));
  }
  const replaced = claim.neighbours === "replace-one";
  const epsilon = claim.epsilon.by(replaced ? 2 : 1);
  let [worst, hidden] = [0n, ONE];
  for (let j = 0n; j <= k; j++) {
    const rest = j < k ? deltaOf(noise, k - j, epsilon) : ZERO;
    const { high } = ONE.minus(hidden).plus(hidden.times(rest));
    if (high > worst) worst = high;
    hidden = hidden.times(ONE.minus(p));
  }
  return new Ball(0n, worst).times(replaced ? ONE.plus(exp(Ball.of(epsilon))) : ONE);
}

function checkQuantiles(claim) {
  const { levels, rates, nested } = claim;
  const [ends, replaced] = [[Fraction.of(0), ...levels, Fraction.of(1)], claim.neighbours === "replace-one"];
  const rising = ends.slice(1).every((end, i) => less(ends[i], end));
  const fits = rising && rates.length === levels.length && levels.length <= 1000;
  require(fits && read("cells", claim.parts), "Levels do not rise, or have no rates.");
  const [costs, left] = [[], nested ? [[0, levels.length, 0]] : levels.map((_, i) => [i, i + 1, i])];
  while (left.length) {
    const [first, last, depth] = left.pop();
    const i = (first + last) >> 1;
    const [low, high] = nested ? [ends[first], ends[last + 1]] : [ends[0], ends.at(-1)];
    const a = levels[i].minus(low).by(high.minus(low));
    const alone = replaced && claim.groups === 1 && (depth === 0 || !nested);
    const share = alone ? 1 : most([a, Fraction.of(1).minus(a)]).times(replaced ? 2 : 1);
    const cost = rates[i].times(2).times(claim.reach.times(share));
    costs[depth] = most([costs[depth] ?? 0, cost]);
    for (const [x, y] of [[first, i], [i + 1, last]]) if (x < y && nested) left.push([x, y, depth + 1]);
  }
  require(atMost(sum(costs), claim.epsilon), "The draws need a larger ε.");
  return ZERO;
}

const PROOFS = {
  certificate: checkDraw,
  "threshold-certificate": checkThreshold,
  "quantile-certificate": checkQuantiles,
};

// 6. What is printed: of a certificate, of a plan of several, of a release.

const SENTENCES = {
  l1: "by at most {bound} in all", l2: "by a vector of length at most {bound}",
  integer: "by a whole number of at most {bound}", within: "within the body {hull}",
  linf: "at most {l0} of them, each by at most {bound}",
  "row-counts": "as {bound} rows do, each of which counts in one of them",
  "counting-queries": "as records do that add 0 to {bound} to at most {max_nonzero} of them",
  added: "by adding, or taking away, a point of the set {of}",
};

const plain = (value) => typeof value === "string" ? general(number(value).float(), 6) : show(dumps(value)).slice(1, -1);

function checkBlock(title, record) {
  let claim, delta;
  try {
    claim = readClaim(record);
    delta = PROOFS[claim.kind](claim);
  } catch (reason) {
    if (!(reason instanceof NotChecked)) throw reason;
    output.say(`${title}: NOT CHECKED here: ${reason.message}.`);
    return null;
  }
  require(isWithin(delta, claim.delta), `${title}: δ is up to ${bound(delta)}.`);
  const draw = claim.kind === "certificate" ? record : record.noise;
  output.say(`${title}:`);
  if (draw) {
    const [r, times] = [draw.sensitivity, draw.compositions];
    const moves = SENTENCES[r.kind].replace(/\{(\w+)\}/g, (_, name) => plain(r[name]));
    output.say(`  ${draw.noise.name} noise on ${draw.dimension} numbers, ${times} time(s).`);
    output.say(`  ASSUMED: one person changes these ${moves}.`);
  }
  if (claim.kind !== "certificate") output.say(`  ASSUMED: ${claim.assumptions[0]}.`);
  output.say(`  PROVED: δ(ε) is at most ${bound(delta)} at ε = ${plain(record.epsilon)}.`);
  return claim;
}

function checkCertificate(record) {
  if (record.kind !== "plan-certificate") {
    const claim = checkBlock("This certificate", record);
    return claim && [claim];
  }
  const plan = fields(record, "kind version epsilon delta rule blocks", "releases");
  const blocks = plan.blocks.map((block) => fields(block, "name certificate"));
  const named = blocks.every((block) => typeof block.name === "string");
  const apart = new Set(blocks.map((block) => block.name)).size === blocks.length;
  require(named && apart, "A query has no name, or that of another.");
  const checked = blocks.map((block) => checkBlock(`Query ${show(block.name)}`, block.certificate));
  const claims = checked.filter((claim) => claim);
  if (claims.length < blocks.length) {
    output.say("The sum of the budgets: NOT CHECKED here, since a query is not.");
    return null;
  }
  const [releases, draws] = [plan.releases ?? 1, claims.filter((claim) => claim.kind === "certificate")];
  const times = releases === 1 || draws.every((claim) => claim.compositions === releases);
  const about = new Set(claims.map((claim) => claim.neighbours ?? null).filter((x) => x !== null));
  require(times && about.size < 2, "Queries are about other numbers of releases, or different neighbours.");
  const others = claims.filter((claim) => claim.kind !== "certificate");
  const spent = (some, part) => sum(some.map((claim) => claim[part]));
  const left = (part) => plan[part].minus(spent(others, part).times(releases));
  let fits;
  if (plan.rule === BASIC) {
    fits = ["epsilon", "delta"].every((part) => atMost(spent(draws, part), left(part)));
  } else if (draws.every((claim) => claim.name === "gaussian")) {
    const square = (c) => c.s.get("square").times(c.draws).by(c.p.scale.times(c.p.scale));
    fits = draws.length && atMost(0, left("epsilon")) && atMost(0, left("delta"));
    fits &&= isWithin(gaussian(sum(draws.map(square)), left("epsilon")), left("delta"));
  } else {
    output.say("The sum of the budgets: NOT CHECKED here: tight composition of several laws.");
    return null;
  }
  require(fits, "The queries spend more than the plan promises.");
  const all = `(${plain(record.epsilon)}, ${plain(record.delta)})-private`;
  output.say(`PROVED: ${blocks.length} queries in ${releases} release(s) are ${all}, by ${plan.rule}.`);
  return claims;
}

function deviations(claim) {
  const { name, p = {}, d = 0 } = claim;
  let [variances, form] = [[], p.body ?? [""]];
  if (form[0] === "cells" && form[3].length === 1) form = form[3][0];
  const scale = p.scale?.float() ** 2;
  if (["gaussian", "laplace"].includes(name) && claim.geometry === null) {
    variances = [scale * (name === "laplace" ? 2 : 1)];
  } else if (name === "discrete-staircase") {
    const [w, add] = [p.masses, (a, b) => a + b];
    const squares = w.map((x, k) => 2n * BigInt(k) * BigInt(k) * x).reduce(add);
    variances = [scale / p.cells ** 2 * new Fraction(squares, 2n * w.reduce(add) - w[0]).float()];
  } else if (form[0] === "box" && d <= 60 && (!p.decay || less(new Fraction(1n, 20n), p.decay))) {
    let [q, ratio] = [form[1], 1];
    if (p.decay) {
      const [gamma, decay] = [p.gamma.float(), p.decay.float()];
      const moment = (n) => total(Array.from({ length: 10_000 }, (_, k) => (k + gamma) ** n * Math.exp(-decay * k)));
      ratio = moment(d + 2) / moment(d) / ((d + 1) * (d + 2));
    }
    variances = form[3].map((a) => (scale * ratio * (q + 1) * (q + 2) * a.float() ** 2) / 3);
  }
  const grid = claim.grid ? claim.grid.float() : 0;
  return variances.flatMap((v) => [0, grid].map((g) => Math.sqrt(v + (g * g) / 12)));
}

// The rows of a CSV file, as records.
function readCsv(text) {
  const rows = text.split(/\r?\n/).filter(Boolean).map((line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((m) => m[1]?.replaceAll('""', '"') ?? m[2]),
  );
  const names = rows.shift() ?? [];
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

function checkDeviations(folder, plan, claims) {
  const names = plan.blocks.map((part) => part.name);
  for (const part of plan.blocks) {
    const { name } = part;
    const [known, stated] = [claims.has(name) ? deviations(claims.get(name)) : [], []];
    const twice = names.indexOf(name) !== names.lastIndexOf(name);
    if (!known.length || twice || "margins" in part || "cumulative" in part || "levels" in part) continue;
    for (const error of part.errors) {
      if (!["count", "count_units"].includes(error.statistic)) continue;
      let rows = [];
      if (folder.has(`${name}.csv`)) rows = readCsv(decode(content(folder, `${name}.csv`, 2 ** 30)));
      else if (folder.has(`${name}.json`)) rows = loads(decode(content(folder, `${name}.json`, 2 ** 30)));
      stated.push(error.std, ...rows.map((row) => row[`${error.statistic}_std`]));
    }
    const near = (x, y) => Math.abs(x - y) <= 1e-6 * Math.max(Math.abs(x), Math.abs(y));
    const fits = stated.every((x) => known.some((y) => near(Number(x ?? NaN), y)));
    require(fits, `A standard deviation of ${show(name)} is not that of its noise.`);
    output.say(`CHECKED: ${stated.length} standard deviations of counts in ${show(name)}.`);
  }
}

function content(folder, name, most = 1e7) {
  const bytes = folder.get(name);
  if (!bytes || bytes.length > most) throw new Error(`${show(name)} is missing, no plain file, or too large.`);
  return bytes;
}

// `folder` is a Map of names to bytes. A page has no tables in it: `without` them, it says so.
function checkRelease(folder, without = false) {
  const seal = fields(parse(content(folder, "release.json")), "kind version files entry", "release");
  const { files, entry, release: place = null } = seal;
  const isPlace = (n) => n === null || (typeof n === "bigint" && n > 0n);
  require(seal.kind === "release-record" && isObject(files) && isPlace(place) && isPlace(entry), "release.json is no seal.");
  const absent = [];
  for (const [name, digest] of Object.entries(files)) {
    const inside = name && !/[/\\:\0]/.test(name) && name !== "." && name !== "..";
    require(inside, `The seal names ${show(name)}, which is not in the folder.`);
    if (without && !folder.has(name)) {
      absent.push(name);
      continue;
    }
    const untouched = sha256(content(folder, name, 2 ** 30)) === digest;
    require(untouched, `${show(name)} is not what was released: its SHA-256 is another.`);
  }
  const sealed = Object.keys(files).length - absent.length;
  output.say(`SEAL: ${sealed} files have the SHA-256 that release.json states.`);
  if (absent.length) output.say(`NOT CHECKED: files that this page does not hold: ${absent.map(show).join(", ")}.`);
  const texts = ["certificate.json", "plan.json", "spec.toml"];
  const [certificate, plan] = texts.slice(0, 2).map((name) => parse(content(folder, name)));
  const parts = ["blocks", "quantiles", "keys"].flatMap((name) => plan[name] ?? []);
  const stem = (name) => name.slice(0, Math.max(0, name.lastIndexOf(".")));
  const tables = Object.keys(files).filter((name) => !texts.includes(name)).map(stem);
  const alike = (a, b) => key([...new Set(a)].sort()) === key([...new Set(b)].sort());
  const fits = texts.every((name) => name in files) && alike(tables, parts.map((part) => part.name));
  require(fits, "The seal is about other files than the plan's tables.");
  const draws = (certificate.blocks ?? []).map(({ certificate: claim }) => (claim.kind.startsWith("thr") ? claim.noise : claim));
  const law = (name, scale, grid) => key([name, number(scale), number(grid)]);
  const laws = new Set(
    draws.filter((c) => c.kind === "certificate").map((c) => law(c.noise.name, c.noise.parameters.scale, c.grid)),
  );
  const drawn = plan.blocks.every((b) => laws.has(law(b.noise, b.scale, b.grid)));
  require(drawn, "plan.json states other noise than the certificate.");
  const ruled = plan.version === certificate.version && plan.rule === certificate.rule;
  const spends = ["epsilon", "delta"].every((name) => same(number(plan[name]), number(certificate[name])));
  require(ruled && spends, "plan.json states another budget or rule than the certificate.");
  const releases = certificate.releases ?? 1n;
  const known = releases === 1n ? place === null : place !== null && place <= releases;
  require(known, "The seal names a release that the series does not have.");
  const claims = checkCertificate(certificate);
  if (claims) checkDeviations(folder, plan, new Map(claims.map((claim, i) => [certificate.blocks[i].name, claim])));
  return Boolean(claims);
}

const NOT_PROVED = [
  "NOT CHECKED here: that one person moves the numbers by no more than is assumed",
  "above, and that tables, plan and specification agree in all else (`leastnoise verify` derives both",
  "from spec.toml); that the noise was drawn as stated; signatures and ledgers; that nobody saw how",
  "long anything took.",
];

// Check a release, or the one certificate that a Map holds; 0 to 3 as leastnoise_check.py ends.
function main(folder, without = false) {
  let proved;
  try {
    const isRelease = folder.size !== 1 || folder.has("release.json");
    proved = isRelease ? checkRelease(folder, without) : checkCertificate(parse(content(folder, [...folder.keys()][0])));
  } catch (error) {
    if (error instanceof Rejected) output.say(`REJECTED: ${error.message}`);
    else output.say(`This is no certificate and no release: ${error.name}, ${show(error.message)}`);
    return error instanceof Rejected ? 1 : 2;
  }
  NOT_PROVED.forEach((line) => output.say(line));
  output.say(proved ? "All draws are proved." : "Nothing is false, but not all draws are proved.");
  return proved ? 0 : 3;
}

if (typeof module !== "undefined") module.exports = { main, output, parse, checkCertificate, Rejected, NotChecked };
