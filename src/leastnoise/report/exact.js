// What check.js needs and Python has in its library: fractions, exact JSON, SHA-256, formats, CSV.
"use strict";

const bitLength = (n) => (n ? (n < 0n ? -n : n).toString(2).length : 0);
const floorDiv = (a, b) => (a % b !== 0n && a < 0n !== b < 0n ? a / b - 1n : a / b);
const ceilDiv = (a, b) => -floorDiv(-a, b);
const sum = (items) => items.reduce((total, item) => total.add(item), exact(0));
const total = (numbers) => numbers.reduce((a, b) => a + b, 0);
const wholes = (items) => items.reduce((a, b) => a + b, 0n);
const largest = (items) => items.reduce((a, b) => (b > a ? b : a));
const most = (items) => items.reduce((a, b) => (less(a, b) ? b : a));
const less = (a, b) => exact(a).sub(b).n < 0n;
const atMost = (a, b) => !less(b, a);
const same = (a, b) => key(a) === key(b);
const words = (text) => text.split(" ").filter(Boolean);
const isText = (value) => typeof value === "string";
const isList = Array.isArray;
const isObject = (value) => typeof value === "object" && value !== null && !isList(value);

class Fraction {
  constructor(n, d = 1n) {
    if (d === 0n) throw new RangeError("division by zero");
    [this.n, this.d] = d < 0n ? [-n, -d] : [n, d];
    if (bitLength(this.d) > 1000) this.reduce();
  }
  static of(x) { return x instanceof Fraction ? x : over(BigInt(x)); }
  reduce() {
    let [a, b] = [this.n < 0n ? -this.n : this.n, this.d];
    while (b) [a, b] = [b, a % b];
    [this.n, this.d] = [this.n / a, this.d / a];
    return this;
  }
  add(other) {
    const { n, d } = exact(other);
    if (d === this.d) return over(this.n + n, d);
    return over(this.n * d + n * this.d, d * this.d);
  }
  sub(other) { return this.add(exact(other).mul(-1)); }
  mul(other) {
    const { n, d } = exact(other);
    return over(this.n * n, this.d * d);
  }
  div(other) {
    const { n, d } = exact(other);
    return over(this.n * d, this.d * n);
  }
  floor() { return floorDiv(this.n, this.d); }
  ceil() { return ceilDiv(this.n, this.d); }
  isWhole() { return this.n % this.d === 0n; }
  float() {
    const shift = bitLength(this.n) - bitLength(this.d) - 64;
    const [up, down] = [BigInt(Math.max(-shift, 0)), BigInt(Math.max(shift, 0))];
    return Number((this.n << up) / (this.d << down)) * 2 ** shift;
  }
}

const exact = Fraction.of;
const over = (n, d) => new Fraction(n, d);
const power = (e) => over(10n ** BigInt(Math.max(e, 0)), 10n ** BigInt(Math.max(-e, 0)));

// The exact number that a decimal, a ratio, or a float in hex spells; null for other texts.
function spelled(text) {
  if (/^-?0x0\.0p\+0$/.test(text)) return exact(0);
  const hex = /^(-?)0x([01])\.([0-9a-f]{13})p(\+0|[-+][1-9]\d{0,3})$/.exec(text);
  if (hex) {
    const [n, e] = [BigInt(`0x${hex[2]}${hex[3]}`), Number(hex[4])];
    if (hex[2] === "1" ? e < -1022 || e > 1023 : n === 0n || e !== -1022) return null;
    const value = e < 52 ? over(n, 1n << BigInt(52 - e)) : exact(n << BigInt(e - 52));
    return (hex[1] ? value.mul(-1) : value).reduce();
  }
  const pattern = /^([-+]?)(?=\d|\.\d)(\d*)(?:\/(\d+)|(?:\.(\d*))?(?:[eE]([-+]?\d{1,4}))?)$/;
  const match = pattern.exec(text);
  if (!match || /^0+$/.test(match[3] ?? "1")) return null;
  const [, sign, whole, below, decimals = "", exponent = "0"] = match;
  const value = over(BigInt(`${sign}1`) * BigInt(whole + decimals), BigInt(below ?? 1));
  return value.mul(power(Number(exponent) - decimals.length)).reduce();
}

function key(value) {
  if (isList(value)) return `(${value.map(key).join()})`;
  if (!(value instanceof Fraction)) return String(value);
  const { n, d } = over(value.n, value.d).reduce();
  return d === 1n ? `${n}` : `${n}/${d}`;
}

function general(x, digits) {
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  const strip = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const e = Number(exponent);
  if (-4 <= e && e < digits) return strip(x.toFixed(digits - 1 - e));
  return `${strip(mantissa)}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
}

const get = (record, name, other = null) => (name in record ? record[name] : other);

// Python's json.loads: whole numbers become BigInts, and a duplicate field is rejected.
function loads(text) {
  let at = 0;
  const fail = () => { throw new SyntaxError("no JSON"); };
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
        need(!(name in record), "A field is duplicate.");
        blank();
        if (!sign(":")) fail();
        record[name] = value(depth + 1);
      });
      return record;
    }
    if (text[at] === '"') return quoted();
    const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
    const word = take(/true|false|null|NaN|-?Infinity/y) ?? take(numeral);
    if (word === null) fail();
    if (/^-?\d+$/.test(word)) return word.length > 4300 ? fail() : BigInt(word);
    if (word === "null") return null;
    return { true: true, false: false }[word] ?? Number(word);
  }
  const result = value(0);
  blank();
  return at === text.length ? result : fail();
}

function dumps(value) {
  if (isList(value)) return `[${value.map(dumps).join(", ")}]`;
  if (isObject(value)) {
    const parts = Object.entries(value).map(([name, part]) => `${dumps(name)}: ${dumps(part)}`);
    return `{${parts.join(", ")}}`;
  }
  if (!isText(value)) return String(value);
  const hex = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g, hex);
}

function sha256(bytes) {
  const root = (n, power) => Math.floor((n ** power % 1) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const [k, h] = [primes.map((p) => root(p, 1 / 3)), primes.slice(0, 8).map((p) => root(p, 1 / 2))];
  const padded = new Uint8Array((bytes.length + 72) & ~63);
  padded.set(bytes);
  padded[bytes.length] = 128;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const [w, turn] = [new Int32Array(64), (x, n) => (x >>> n) | (x << (32 - n))];
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [a, b] = [w[i - 15], w[i - 2]];
      const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      w[i] = w[i - 16] + low + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, x] = h;
    for (let i = 0; i < 64; i++) {
      const choice = (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g));
      const first = (x + choice + k[i] + w[i]) | 0;
      const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [x, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, x].forEach((y, i) => (h[i] = (h[i] + y) | 0));
  }
  return h.map((y) => (y >>> 0).toString(16).padStart(8, "0")).join("");
}

function isqrt(n) {
  if (n < 0n) throw new RangeError("a negative square");
  let root = 1n << BigInt((bitLength(n) >> 1) + 1);
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

const decode = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

function readCsv(text) {
  const cell = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g;
  const unquote = ([, quoted, plainly]) => quoted?.replaceAll('""', '"') ?? plainly;
  const lines = text.split(/\r?\n/).filter(Boolean);
  const rows = lines.map((line) => [...line.matchAll(cell)].map(unquote));
  const names = rows.shift() ?? [];
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

// JSON in ASCII: no control character, and no mark that turns a line, reaches the page.
const show = (value) => dumps(value).slice(0, 300);
