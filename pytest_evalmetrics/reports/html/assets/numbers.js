// Numbers as the terminal and the summary write them.

function num(x) {
  if (x === null || x === undefined) return "–";
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return String(x);
  const size = Math.abs(x);
  return size >= 0.001 && size < 100 ? x.toFixed(4) : String(Number(x.toPrecision(6)));
}

const brief = (x) => (x === null || x === undefined ? "–" : String(Number(x.toPrecision(3))));
const short = (x) => (x === null || x === undefined ? "–" : String(Number(Math.abs(x) < 100 ? x.toFixed(4) : x.toPrecision(6))));
const plus = (x) => (x > 0 ? "+" : "") + short(x).replace("-", "−");
const signed = (x) => (x === null || x === undefined ? "–" : (x > 0 ? "+" : "") + num(x).replace("-", "−"));
const count = (n) => n.toLocaleString("en-US");
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
const percent = (x) => `${Number((100 * x).toPrecision(3))} %`;

function bytes(n) {
  if (n < 1000) return `${n} B`;
  const [power, unit] = n < 1e6 ? [1e3, "kB"] : n < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${Number((n / power).toPrecision(3))} ${unit}`;
}

const pValue = (p) => (p === null || p === undefined ? "" : p < 1e-4 ? "p < 0.0001" : `p = ${Number(p.toPrecision(2))}`);
