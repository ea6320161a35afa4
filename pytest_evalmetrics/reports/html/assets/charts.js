// Charts by uPlot. What they show is also said in words or in a table beside them.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
let charts = []; // those on the page: {plot, place, height}

function dropCharts() {
  for (const { plot } of charts) {
    plot.destroy();
  }
  charts = [];
  openTask = () => {};
}

function redrawCharts() {
  for (const { plot } of charts) {
    plot.redraw(true, true);
  }
}

repaints.add(redrawCharts);

const resized = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const found = charts.find((drawn) => drawn.place === entry.target);
    const width = Math.floor(entry.contentRect.width);
    if (found && width > 0 && width !== found.plot.width) {
      found.plot.setSize({ width, height: found.height });
    }
  }
});

function axis(extra) {
  return {
    stroke: () => colour("muted"),
    font: FONT,
    labelFont: FONT,
    labelSize: 18,
    grid: { stroke: () => colour("line"), width: 1 },
    ticks: { show: false },
    ...extra,
  };
}

// Draws when its place is in the document and has a width; `height` is in pixels.
function chart(label, options, values, height) {
  const place = h("div", { class: "chart", role: "img", "aria-label": label });
  requestAnimationFrame(() => {
    if (!place.isConnected) {
      return;
    }
    const width = Math.floor(place.clientWidth) || 300;
    const plain = { width, height, legend: { show: false }, cursor: { show: false } };
    const plot = new uPlot({ ...plain, ...options }, values, place);
    charts.push({ plot, place, height });
    resized.observe(place);
  });
  return place;
}

// A number beside an axis.
function tick(x) {
  const size = Math.abs(x);
  if (size >= 1e6) {
    return `${Number((x / 1e6).toPrecision(3))}M`;
  }
  if (size >= 1e4) {
    return `${Number((x / 1e3).toPrecision(3))}k`;
  }
  return String(Number(x.toPrecision(4)));
}

const NO_POINTS = { show: false };

// -- a score's distribution ----------------------------------------------------------------------

function shares(counts) {
  const sum = counts.reduce((a, b) => a + b, 0) || 1;
  return counts.map((n) => (100 * n) / sum);
}

// A few values have a bar each, side by side with the baseline's.
function fewValues({ at, now, was }) {
  const gaps = at.slice(1).map((x, k) => x - at[k]);
  const gap = gaps.length ? Math.min(...gaps) : 0;
  const pad = 0.75 * gap || 0.5 * Math.abs(at[0]) || 0.5;
  const bars = (align, part) => uPlot.paths.bars({ size: [part, 56], align, gap: 1 });
  const fill = (name, paths) => ({
    stroke: () => colour(name),
    fill: () => colour(`${name}-soft`),
    width: 0,
    paths,
    points: NO_POINTS,
  });
  const series = [{}, fill("now", was ? bars(1, 0.42) : bars(0, 0.6))];
  const values = [at, shares(now)];
  if (was) {
    series.push(fill("was", bars(-1, 0.42)));
    values.push(shares(was));
  }
  const MOST_SPLITS = 6;
  return {
    series,
    values,
    range: [at[0] - pad, at[at.length - 1] + pad],
    splits: at.length <= MOST_SPLITS ? { splits: () => at } : {},
  };
}

// Many values are counted in bins; the baseline is a line over the bars.
function manyValues({ at, width, now, was }) {
  const half = width / 2;
  const edges = [...at.map((x) => x - half), at[at.length - 1] + half];
  const series = [{}, {
    stroke: () => colour("now"),
    fill: () => colour("now-soft"),
    width: 1,
    paths: uPlot.paths.bars({ size: [1, 56], align: 1, gap: 1 }),
    points: NO_POINTS,
  }];
  const values = [edges, [...shares(now), null]];
  if (was) {
    series.push({
      stroke: () => colour("was"),
      width: 1.5,
      paths: uPlot.paths.stepped({ align: 1 }),
      points: NO_POINTS,
    });
    values.push([...shares(was), 0]);
  }
  return { series, values, range: [edges[0], edges[edges.length - 1]], splits: {} };
}

function inWords(found) {
  if (!found) {
    return "no values";
  }
  const span = `from ${num(found.min)} to ${num(found.max)}`;
  const middle = `mean ${num(found.mean)}, median ${num(found.median)}`;
  return `${middle}, ${span}, ${plural(found.count, "rollout")}`;
}

function histogramChart(distribution) {
  const drawn = distribution.width ? manyValues(distribution) : fewValues(distribution);
  const before = distribution.was_is ? `; baseline ${inWords(distribution.was_is)}` : "";
  const label = `Distribution of ${distribution.score}: ${inWords(distribution.now_is)}${before}`;
  const percents = (u, ticks) => ticks.map((share) => `${Number(share.toPrecision(3))} %`);
  const options = {
    padding: [8, 12, 0, 0],
    scales: {
      x: { time: false, range: () => drawn.range },
      y: { range: (u, low, high) => [0, Math.max(high, 1) * 1.05] },
    },
    axes: [
      axis({ space: 60, size: 30, values: (u, ticks) => ticks.map(tick), ...drawn.splits }),
      axis({ size: 46, values: percents }),
    ],
    series: drawn.series,
  };
  return chart(label, options, drawn.values, 190);
}

function distributionTable(distribution) {
  const columns = [["mean", "Mean"], ["median", "Median"], ["p90", "90 %"], ["max", "Most"]];
  const line = (name, kind, found) => {
    if (!found) {
      return null;
    }
    const key = h("span", { class: `key ${kind}`, "aria-hidden": "true" });
    return h("tr", {},
      h("th", { scope: "row" }, key, name),
      columns.map(([column]) => h("td", { class: "n" }, brief(found[column]))));
  };
  const head = columns.map(([, name]) => h("th", { scope: "col", class: "n" }, name));
  const table = h("table", { class: "small" },
    h("caption", { class: "hidden-text" }, `${distribution.score} of rollouts`),
    h("thead", {}, h("tr", {}, h("td"), head)),
    h("tbody", {},
      line("Now", "now", distribution.now_is),
      line("Before", "was", distribution.was_is)));
  const missing = distribution.now_is && distribution.now_is.missing;
  return [
    scrolling(`${distribution.score} in numbers`, table),
    missing ? h("p", { class: "muted" }, `${plural(missing, "rollout")} without it`) : null,
  ];
}

// -- a metric over the last runs -------------------------------------------------------------------

function lineInWords(line, known) {
  const parts = [
    `${line.metric} over ${plural(known.length, "run")}: from ${num(known[0])} to ${num(known[known.length - 1])}`,
    `lowest ${num(Math.min(...known))}`,
    `highest ${num(Math.max(...known))}`,
  ];
  if (!isNone(line.baseline)) {
    parts.push(`baseline ${num(line.baseline)}`);
  }
  return parts.join(", ");
}

// A run in words, for who points at it.
function runInWords(line, runs, at) {
  if (isNone(at) || line.values[at] === null) {
    return " ";
  }
  const { time, commit, verdict, label } = runs[at];
  const low = line.lows[at];
  const range = low === null ? "" : ` [${num(low)}, ${num(line.highs[at])}]`;
  const value = `${num(line.values[at])}${range}`;
  if (label) {
    return `${label}: ${value}`;
  }
  const when = time.slice(0, 16).replace("T", " ");
  const what = commit ? ` ${commit.slice(0, 10)}` : "";
  return `${when}${what}: ${value}, ${WORDS[verdict][2].toLowerCase()}`;
}

// A dashed line over the whole chart.
function dashedLine(u, ratio, name, dash, from, to) {
  const { ctx } = u;
  ctx.strokeStyle = colour(name);
  ctx.lineWidth = 1.5 * ratio;
  ctx.setLineDash(dash.map((length) => length * ratio));
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
  ctx.setLineDash([]);
}

function drawBaseline(u, ratio, baseline) {
  const y = u.valToPos(baseline, "y", true);
  const { left, width } = u.bbox;
  dashedLine(u, ratio, "was", [6, 4], [left, y], [left + width, y]);
}

// Between two runs: from the second on the level is another.
function drawChange(u, ratio, at) {
  const x = u.valToPos(at - 0.5, "x", true);
  const { top, height } = u.bbox;
  dashedLine(u, ratio, "ink", [2, 3], [x, top], [x, top + height]);
}

// A circle for a run that holds, a square for one that fails.
function drawPoint(u, ratio, at, value, verdict) {
  const { ctx } = u;
  const x = u.valToPos(at, "x", true);
  const y = u.valToPos(value, "y", true);
  const radius = 4.5 * ratio;
  ctx.fillStyle = colour(WORDS[verdict][1]);
  ctx.beginPath();
  if (verdict !== "FAIL" && verdict !== "INCONCLUSIVE") {
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
  } else {
    ctx.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  }
  ctx.fill();
}

function drawMarks(u, line, runs) {
  const ratio = devicePixelRatio || 1;
  u.ctx.save();
  if (!isNone(line.baseline)) {
    drawBaseline(u, ratio, line.baseline);
  }
  for (const at of line.changes || []) {
    drawChange(u, ratio, at);
  }
  line.values.forEach((value, at) => {
    if (value !== null) {
      drawPoint(u, ratio, at, value, runs[at].verdict);
    }
  });
  u.ctx.restore();
}

// The values that a line's scale has to show, with some room.
function lineRange(line, known) {
  const ends = [...known, ...line.lows, ...line.highs, line.baseline];
  const all = ends.filter((value) => !isNone(value));
  const low = Math.min(...all);
  const high = Math.max(...all);
  const room = 0.1 * (high - low) || 0.05 * Math.abs(high) || 0.5;
  return [low - room, high + room];
}

// Its interval is a band, the baseline a dashed line, and each run's verdict the colour and form of
// its point. A pointer over the chart reads the run out below it.
function lineChart(line, runs) {
  const known = line.values.filter((value) => value !== null);
  const range = lineRange(line, known);
  const last = line.values.length - 1;
  const place = h("p", { class: "read-out muted" }, runInWords(line, runs, last));
  const readOut = (u) => {
    place.textContent = runInWords(line, runs, u.cursor.idx ?? last);
  };
  const day = (at) => {
    if (!Number.isInteger(at) || !runs[at]) {
      return "";
    }
    return runs[at].label || runs[at].time.slice(5, 10);
  };
  const edge = { stroke: () => "transparent", width: 0, spanGaps: true, points: NO_POINTS };
  const course = { stroke: () => colour("now"), width: 2, spanGaps: true, points: NO_POINTS };
  const options = {
    padding: [8, 16, 0, 0],
    cursor: { show: true, y: false, drag: { x: false, y: false }, points: NO_POINTS },
    scales: {
      x: { time: false, range: () => [-0.3, last + 0.3] },
      y: { range: () => range },
    },
    axes: [
      axis({ size: 28, space: 56, incrs: [1, 2, 5, 10, 20], values: (u, ticks) => ticks.map(day) }),
      axis({ size: 56, values: (u, ticks) => ticks.map(tick) }),
    ],
    series: [{}, edge, edge, course],
    bands: [{ series: [2, 1], fill: () => colour("now-soft") }],
    hooks: { draw: [(u) => drawMarks(u, line, runs)], setCursor: [readOut] },
  };
  const values = [line.values.map((_, at) => at), line.lows, line.highs, line.values];
  return [chart(lineInWords(line, known), options, values, 170), place];
}
