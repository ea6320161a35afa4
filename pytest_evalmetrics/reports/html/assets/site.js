// Many runs: each with its page, and each benchmark's metrics through them.

const lineName = (line) => (line.agent ? `${line.agent}: ` : "") + line.metric;

function runsTable(runs) {
  const list = sortedTable({
    caption: "Runs", page: 25, empty: "No run.",
    columns: [
      { key: "verdict", label: "Verdict", class: "v" },
      { key: "time", label: "Run", by: (r) => r.time, first: -1 },
      { key: "branch", label: "Branch", by: (r) => r.branch, class: "md" },
      { key: "commit", label: "Commit", class: "md" },
      { key: "red", label: "Red", by: (r) => r.red, first: -1, class: "n" },
      { key: "benchmarks", label: "Benchmarks", by: (r) => r.benchmarks, class: "n md" },
    ],
    row: (r) => [h("tr", {}, h("td", { class: "v" }, badge(r.verdict)),
      h("th", { scope: "row" }, r.href ? h("a", { href: r.href }, r.name) : r.name, h("small", { class: "where" }, r.time.replace("T", " ").replace("Z", " UTC"))),
      h("td", { class: "md" }, r.branch || "–"), h("td", { class: "md" }, /^https?:/.test(r.url) ? h("a", { href: r.url, rel: "noreferrer" }, h("code", {}, r.commit.slice(0, 10) || "job")) : h("code", {}, r.commit.slice(0, 10) || "–")),
      h("td", { class: "n" }, count(r.red)), h("td", { class: "n md" }, count(r.benchmarks)))],
  });
  list.update(runs.slice().reverse());
  return section("runs", "Runs", list.element);
}

// The last change of a metric: from which run on, and by how much.
function lastChange(benchmark) {
  const moved = benchmark.lines.filter((l) => l.changes.length).map((line) => {
    const at = line.changes[line.changes.length - 1];
    return { line, at, run: benchmark.runs[at] };
  });
  moved.sort((a, b) => b.at - a.at);
  return moved[0];
}

const SPARK = [120, 28]; // pixels

// A metric's course in a cell of a table.
function sparkline(line) {
  const [width, height] = SPARK;
  const known = line.values.filter((value) => value !== null);
  if (known.length < 2) {
    return null;
  }
  const low = Math.min(...known);
  const high = Math.max(...known);
  const x = (at) => 3 + (at / (line.values.length - 1)) * (width - 6);
  const y = (value) => height - 3 - ((value - low) / (high - low || 1)) * (height - 6);
  const points = line.values
    .map((value, at) => (value === null ? null : `${x(at).toFixed(1)},${y(value).toFixed(1)}`))
    .filter(Boolean);
  const label = `${lineName(line)} over ${plural(known.length, "run")}: from ${num(known[0])} to ${num(known[known.length - 1])}`;
  return s("svg", { class: "sparkline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    s("polyline", { points: points.join(" ") }));
}

// The means before and since the last change of a metric.
function changeSizes({ line, at }) {
  const mean = (values) => {
    const known = values.filter((value) => value !== null);
    return known.reduce((sum, value) => sum + value, 0) / known.length;
  };
  const begins = line.changes.length > 1 ? line.changes[line.changes.length - 2] : 0;
  return [mean(line.values.slice(begins, at)), mean(line.values.slice(at))];
}

function lastChangeText(moved) {
  const [before, since] = changeSizes(moved);
  const way = since < before ? "fell" : "rose";
  const { commit, time } = moved.run;
  return [
    h("code", {}, lineName(moved.line)),
    ` ${way} from ${num(before)} to ${num(since)} since ${time.slice(0, 10)}`,
    commit ? [" (", h("code", {}, commit.slice(0, 10)), ")"] : null,
  ];
}

function trendsTable(benchmarks) {
  const list = sortedTable({
    caption: "Benchmarks", page: 50, empty: "No benchmark matches.",
    columns: [
      { key: "verdict", label: "Last verdict", class: "v" },
      { key: "name", label: "Benchmark", by: (b) => b.name },
      { key: "value", label: "Last value", class: "n" },
      { key: "course", label: "Course", class: "lg" },
      { key: "runs", label: "Runs", by: (b) => b.runs.length, first: -1, class: "n md" },
      { key: "moved", label: "Last change", by: (b) => (lastChange(b) ? lastChange(b).run.time : null), first: -1 },
    ],
    row: (b) => {
      const line = b.lines[0];
      const moved = lastChange(b);
      return [h("tr", {}, h("td", { class: "v" }, badge(b.verdict), b.in_last ? null : h("small", { class: "muted" }, " not in the last run")),
        h("th", { scope: "row" }, h("a", { href: target(b) }, b.name), h("small", { class: "where" }, b.file)),
        h("td", { class: "n" }, line ? num(line.values[line.values.length - 1]) : "–", line ? h("small", { class: "where" }, lineName(line)) : null),
        h("td", { class: "lg" }, line ? sparkline(line) : null),
        h("td", { class: "n md" }, count(b.runs.length)),
        h("td", {}, moved ? lastChangeText(moved) : h("span", { class: "muted" }, "–")))];
    },
  });
  list.update(benchmarks);
  const search = h("input", { type: "search", input: (e) => {
    const wanted = e.target.value.trim().toLowerCase();
    list.update(benchmarks.filter((b) => b.id.toLowerCase().includes(wanted)));
  } });
  return section("all", "Benchmarks", benchmarks.length > 5 ? h("div", { class: "tools" }, h("label", {}, "Search", search)) : null, list.element);
}

function trendPage(benchmark) {
  const { runs, lines } = benchmark;
  const link = (run) => h("a", { href: `${run.href}#/${encodeURIComponent(benchmark.id)}` }, run.time.replace("T", " ").replace("Z", ""));
  return [
    h("nav", { class: "steps", "aria-label": "Benchmarks" }, h("a", { href: "#/" }, "← All runs")),
    h("div", { class: `verdict ${WORDS[benchmark.verdict][1]} one` }, h("h1", { tabindex: "-1" }, benchmark.name, " ", badge(benchmark.verdict, true)), h("p", { class: "place" }, benchmark.id)),
    lines.length ? section("trend", "Trend", h("p", { class: "muted" }, "The band is the 95 % interval. A square is a failed run, and a dotted line marks where the level of the metric changed."),
      h("div", { class: "grid" }, lines.map((line) => h("div", { class: "card" }, h("h3", {}, h("code", {}, lineName(line))), lineChart(line, runs),
        line.changes.map((at) => h("p", {}, `changed on ${runs[at].time.slice(0, 10)}`, runs[at].commit ? [" at ", h("code", {}, runs[at].commit.slice(0, 10))] : null)))))) : h("p", { class: "note" }, "There is only one run so far."),
    section("each", "Runs", scrolling("Runs", h("table", { class: "small" }, h("caption", { class: "hidden-text" }, "Runs"), cells(["Run", "Verdict", ...lines.map(lineName)]),
      h("tbody", {}, runs.map((r, i) => h("tr", {}, h("th", { scope: "row" }, r.href ? link(r) : r.time), h("td", { class: "n" }, badge(r.verdict)), lines.map((line) => h("td", { class: "n" }, num(line.values[i]))))).reverse())))),
  ];
}

function showSite(site, wanted) {
  const benchmark = site.benchmarks.find((b) => b.id === wanted);
  if (benchmark) return [trendPage(benchmark), benchmark.name];
  const last = site.runs[site.runs.length - 1];
  return [[
    h("div", { class: `verdict ${WORDS[last.verdict][1]}` }, h("h1", { tabindex: "-1" }, badge(last.verdict, true), h("span", { class: "hidden-text" }, " – the last run")),
      h("p", { class: "lead" }, `${plural(site.runs.length, "run")}. The last one: ${count(last.red)} red of ${plural(last.benchmarks, "benchmark")}.`)),
    trendsTable(site.benchmarks), runsTable(site.runs)], "Runs"];
}
