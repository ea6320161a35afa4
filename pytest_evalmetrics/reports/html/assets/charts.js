// Charts by uPlot. What they show is also said in words or in a table beside them.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
let charts = []; // those on the page: [uPlot, its place]

function dropCharts() {
  for (const [chart] of charts) chart.destroy();
  charts = [];
  expanders.clear();
  openTask = () => {};
}

repaints.add(() => charts.forEach(([chart]) => chart.redraw(true, true)));

const resized = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const found = charts.find(([, place]) => place === entry.target);
    const width = Math.floor(entry.contentRect.width);
    if (found && width > 0 && width !== found[0].width) {
      found[0].setSize({ width, height: found[2](width) });
    }
  }
});

const axis = (extra) => ({
  stroke: () => colour("muted"),
  font: FONT,
  labelFont: FONT,
  labelSize: 18,
  grid: { stroke: () => colour("line"), width: 1 },
  ticks: { show: false },
  ...extra,
});

// Draws when its place is in the document and has a width.
function chart(label, options, values, height) {
  const place = h("div", { class: "chart", role: "img", "aria-label": label });
  requestAnimationFrame(() => {
    if (!place.isConnected) return;
    const width = Math.floor(place.clientWidth) || 300;
    const made = new uPlot({
      width, height: height(width), legend: { show: false },
      cursor: { show: false }, ...options,
    }, values, place);
    charts.push([made, place, height]);
    resized.observe(place);
  });
  return place;
}

// -- a score's distribution --------------------------------------------------------------

function sides(distribution) {
  const share = (counts) => {
    const sum = counts.reduce((a, b) => a + b, 0) || 1;
    return counts.map((n) => (100 * n) / sum);
  };
  const { at, width, now, was } = distribution;
  if (!width) return { xs: at, now: share(now), was: was && share(was), few: true };
  const edges = [...at.map((x) => x - width / 2), at[at.length - 1] + width / 2];
  return { xs: edges, now: [...share(now), null], was: was && [...share(was), 0], few: false };
}

function histogramChart(distribution) {
  const { xs, now, was, few } = sides(distribution);
  const gap = few && xs.length > 1 ? Math.min(...xs.slice(1).map((x, i) => x - xs[i])) : 0;
  const pad = few ? gap * 0.75 || Math.abs(xs[0]) * 0.5 || 0.5 : 0;
  const range = [xs[0] - pad, xs[xs.length - 1] + pad];
  const bars = (align, part) => uPlot.paths.bars({ size: [part, 56], align, gap: 1 });
  const series = [{}, {
    stroke: () => colour("now"), fill: () => colour("now-soft"), width: few ? 0 : 1,
    paths: few ? bars(was ? 1 : 0, was ? 0.42 : 0.6) : bars(1, 1), points: { show: false },
  }];
  const values = [xs, now];
  if (was) {
    series.push(few ? {
      stroke: () => colour("was"), fill: () => colour("was-soft"), width: 0,
      paths: bars(-1, 0.42), points: { show: false },
    } : {
      stroke: () => colour("was"), width: 1.5, paths: uPlot.paths.stepped({ align: 1 }),
      points: { show: false },
    });
    values.push(was);
  }
  const label = `Distribution of ${distribution.score}: ${inWords(distribution.now_is)}`
    + (distribution.was_is ? `; baseline ${inWords(distribution.was_is)}` : "");
  return chart(label, {
    padding: [8, 12, 0, 0],
    scales: { x: { time: false, range: () => range }, y: { range: (u, lo, hi) => [0, Math.max(hi, 1) * 1.05] } },
    axes: [
      axis({ space: 60, size: 30, values: (u, ticks) => ticks.map(tick), ...(few && xs.length <= 6 ? { splits: () => xs } : {}) }),
      axis({ size: 46, values: (u, ticks) => ticks.map((t) => `${Number(t.toPrecision(3))} %`) }),
    ],
    series,
  }, values, () => 190);
}

const tick = (x) => {
  const size = Math.abs(x);
  if (size >= 1e6) return `${Number((x / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((x / 1e3).toPrecision(3))}k`;
  return String(Number(x.toPrecision(4)));
};

const inWords = (found) => (found
  ? `mean ${num(found.mean)}, median ${num(found.median)}, from ${num(found.min)} to ${num(found.max)}, ${plural(found.count, "rollout")}`
  : "no values");

function distributionTable(distribution) {
  const columns = [["mean", "Mean"], ["median", "Median"], ["p90", "90 %"], ["max", "Most"]];
  const line = (name, kind, found) => found && h("tr", {},
    h("th", { scope: "row" }, h("span", { class: `key ${kind}`, "aria-hidden": "true" }), name),
    columns.map(([key]) => h("td", { class: "n" }, brief(found[key]))));
  const missing = distribution.now_is && distribution.now_is.missing;
  return [
    scrolling(`${distribution.score} in numbers`, h("table", { class: "small" },
      h("caption", { class: "hidden-text" }, `${distribution.score} of rollouts`),
      h("thead", {}, h("tr", {}, h("td"), columns.map(([, name]) => h("th", { scope: "col", class: "n" }, name)))),
      h("tbody", {}, line("Now", "now", distribution.now_is), line("Before", "was", distribution.was_is)))),
    missing ? h("p", { class: "muted" }, `${plural(missing, "rollout")} without it`) : null,
  ];
}

// -- a metric over the last runs ----------------------------------------------------------

// Its interval is a band, the baseline a dashed line, and each run's verdict the colour and form of
// its point. A pointer over the chart reads the run out below it.
function lineChart(line, runs) {
  const known = line.values.filter((v) => v !== null);
  const all = [...known, ...line.lows, ...line.highs, line.baseline].filter((v) => v !== null && v !== undefined);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = (high - low) * 0.1 || Math.abs(high) * 0.05 || 0.5;
  const label = `${line.metric} over ${plural(known.length, "run")}: from ${num(known[0])} to ${num(known[known.length - 1])}, lowest ${num(Math.min(...known))}, highest ${num(Math.max(...known))}`
    + (line.baseline === null || line.baseline === undefined ? "" : `, baseline ${num(line.baseline)}`);
  const read = (i) => {
    if (i === null || i === undefined || line.values[i] === null) return " ";
    const { time, commit, verdict, label } = runs[i];
    const range = line.lows[i] === null ? "" : ` [${num(line.lows[i])}, ${num(line.highs[i])}]`;
    if (label) return `${label}: ${num(line.values[i])}${range}`;
    return `${time.slice(0, 16).replace("T", " ")}${commit ? ` ${commit.slice(0, 10)}` : ""}: ${num(line.values[i])}${range}, ${WORDS[verdict][2].toLowerCase()}`;
  };
  const place = h("p", { class: "read-out muted" }, read(line.values.length - 1));
  const draw = (u) => {
    const { ctx } = u;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    if (line.baseline !== null && line.baseline !== undefined) {
      const y = u.valToPos(line.baseline, "y", true);
      ctx.strokeStyle = colour("was");
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash([6 * ratio, 4 * ratio]);
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y);
      ctx.lineTo(u.bbox.left + u.bbox.width, y);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    for (const i of line.changes || []) { // from this run on it is another
      const x = u.valToPos(i - 0.5, "x", true);
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash([2 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    line.values.forEach((v, i) => {
      if (v === null) return;
      const [x, y, r] = [u.valToPos(i, "x", true), u.valToPos(v, "y", true), 4.5 * ratio];
      const { verdict } = runs[i];
      ctx.fillStyle = colour(WORDS[verdict][1]);
      ctx.beginPath();
      if (verdict === "PASS" || verdict === "WARN") ctx.arc(x, y, r, 0, 2 * Math.PI);
      else ctx.rect(x - r, y - r, 2 * r, 2 * r);
      ctx.fill();
    });
    ctx.restore();
  };
  const day = (i) => (Number.isInteger(i) && runs[i] ? runs[i].label || runs[i].time.slice(5, 10) : "");
  const band = { stroke: () => "transparent", width: 0, spanGaps: true, points: { show: false } };
  const drawn = chart(label, {
    padding: [8, 16, 0, 0],
    cursor: { show: true, y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: () => [-0.3, line.values.length - 0.7] }, y: { range: () => [low - room, high + room] } },
    axes: [axis({ size: 28, space: 56, incrs: [1, 2, 5, 10, 20], values: (u, ticks) => ticks.map(day) }), axis({ size: 56, values: (u, ticks) => ticks.map(tick) })],
    series: [{}, band, band, { stroke: () => colour("now"), width: 2, spanGaps: true, points: { show: false } }],
    bands: [{ series: [2, 1], fill: () => colour("now-soft") }],
    hooks: { draw: [draw], setCursor: [(u) => { place.textContent = read(u.cursor.idx ?? line.values.length - 1); }] },
  }, [line.values.map((v, i) => i), line.lows, line.highs, line.values], () => 170);
  return [drawn, place];
}
