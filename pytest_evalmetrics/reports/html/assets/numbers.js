// Numbers as the terminal and the summary write them.

const isNone = (x) => x === null || x === undefined;
const withMinus = (text) => text.replace("-", "−");

function num(x) {
  if (isNone(x)) {
    return "–";
  }
  if (Number.isInteger(x) && Math.abs(x) < 1e15) {
    return String(x);
  }
  const size = Math.abs(x);
  if (size >= 0.001 && size < 100) {
    return x.toFixed(4);
  }
  return size >= 100 && size < 1e5 ? x.toFixed(1) : String(Number(x.toPrecision(6)));
}

const brief = (x) => (isNone(x) ? "–" : String(Number(x.toPrecision(3))));

// The size of a loss that would be seen, as precisely as it is known.
const lossSize = (x) => String(Number(x.toPrecision(2)));

function short(x) {
  if (isNone(x)) {
    return "–";
  }
  return String(Number(Math.abs(x) < 100 ? x.toFixed(4) : num(x)));
}

const plus = (x) => (x > 0 ? "+" : "") + withMinus(short(x));
const signed = (x) => (isNone(x) ? "–" : (x > 0 ? "+" : "") + withMinus(num(x)));
const count = (n) => n.toLocaleString("en-US");
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || `${one}s`}`;
const percent = (x) => `${Number((100 * x).toPrecision(3))} %`;

function bytes(n) {
  if (n < 1000) {
    return `${n} B`;
  }
  const units = [[1e3, "kB"], [1e6, "MB"], [1e9, "GB"]];
  const fitting = units.filter(([size]) => n >= size);
  const [power, unit] = fitting[fitting.length - 1];
  return `${Number((n / power).toPrecision(3))} ${unit}`;
}

function pValue(p) {
  if (isNone(p)) {
    return "";
  }
  return p < 1e-4 ? "p < 0.0001" : `p = ${Number(p.toPrecision(2))}`;
}
