// Many runs: each with its page, and each benchmark's metrics through them.

const lineName = (line) => (line.agent ? `${line.agent}: ` : "") + line.metric;

const timeText = (time) => time.replace("T", " ").replace("Z", " UTC");
const dayText = (time) => time.slice(0, 10);
const commitCode = (commit) => h("code", {}, commit.slice(0, 10));

// -- the runs ------------------------------------------------------------------------------------

function jobOf(run) {
  if (!/^https?:/.test(run.url)) {
    return h("code", {}, run.commit.slice(0, 10) || "–");
  }
  const name = h("code", {}, run.commit.slice(0, 10) || "job");
  return h("a", { href: run.url, rel: "noreferrer" }, name);
}

function runRow(run) {
  return h("tr", {},
    h("td", { class: "v" }, badge(run.verdict)),
    h("th", { scope: "row" },
      run.href ? h("a", { href: run.href }, run.name) : run.name,
      h("small", { class: "where" }, timeText(run.time))),
    h("td", { class: "md" }, run.branch || "–"),
    h("td", { class: "md" }, jobOf(run)),
    h("td", { class: "n" }, count(run.red)),
    h("td", { class: "n md" }, count(run.benchmarks)));
}

function runsTable(runs) {
  const list = sortedTable({
    caption: "Runs",
    page: 25,
    empty: "No run.",
    columns: [
      { key: "verdict", label: "Verdict", class: "v" },
      { key: "time", label: "Run", by: (run) => run.time, first: -1 },
      { key: "branch", label: "Branch", by: (run) => run.branch, class: "md" },
      { key: "commit", label: "Commit", class: "md" },
      { key: "red", label: "Red", by: (run) => run.red, first: -1, class: "n" },
      { key: "benchmarks", label: "Benchmarks", by: (run) => run.benchmarks, class: "n md" },
    ],
    row: (run) => [runRow(run)],
  });
  list.update([...runs].reverse());
  return section("runs", "Runs", list.element);
}

// -- the benchmarks --------------------------------------------------------------------------------

// The last change of a metric: of which one, and from which run on; undefined without any.
function lastChange(benchmark) {
  const moved = benchmark.lines.filter((line) => line.changes.length).map((line) => {
    const at = line.changes[line.changes.length - 1];
    return { line, at, run: benchmark.runs[at] };
  });
  moved.sort((a, b) => b.at - a.at);
  return moved[0];
}

const SPARK_WIDTH = 120; // pixels
const SPARK_HEIGHT = 28;
const SPARK_EDGE = 3;

// A metric's course in a cell of a table.
function sparkline(line) {
  const known = line.values.filter((value) => value !== null);
  if (known.length < 2) {
    return null;
  }
  const low = Math.min(...known);
  const high = Math.max(...known);
  const width = SPARK_WIDTH - 2 * SPARK_EDGE;
  const height = SPARK_HEIGHT - 2 * SPARK_EDGE;
  const x = (at) => SPARK_EDGE + (at / (line.values.length - 1)) * width;
  const y = (value) => SPARK_HEIGHT - SPARK_EDGE - ((value - low) / (high - low || 1)) * height;
  const points = [];
  line.values.forEach((value, at) => {
    if (value !== null) {
      points.push(`${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    }
  });
  const ends = `from ${num(known[0])} to ${num(known[known.length - 1])}`;
  const label = `${lineName(line)} over ${plural(known.length, "run")}: ${ends}`;
  const box = `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`;
  return s("svg", { class: "sparkline", viewBox: box, role: "img", "aria-label": label },
    s("polyline", { points: points.join(" ") }));
}

function meanOf(values) {
  const known = values.filter((value) => value !== null);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

// The means before and since the last change of a metric.
function changeSizes({ line, at }) {
  const begins = line.changes.length > 1 ? line.changes[line.changes.length - 2] : 0;
  return [meanOf(line.values.slice(begins, at)), meanOf(line.values.slice(at))];
}

function lastChangeText(moved) {
  const [before, since] = changeSizes(moved);
  const way = since < before ? "fell" : "rose";
  const { commit, time } = moved.run;
  return [
    h("code", {}, lineName(moved.line)),
    ` ${way} from ${num(before)} to ${num(since)} since ${dayText(time)}`,
    commit ? [" (", commitCode(commit), ")"] : null,
  ];
}

function trendRow(benchmark) {
  const [line] = benchmark.lines;
  const moved = lastChange(benchmark);
  const last = line ? num(line.values[line.values.length - 1]) : "–";
  const gone = benchmark.in_last ? null : h("small", { class: "muted" }, " not in the last run");
  return h("tr", {},
    h("td", { class: "v" }, badge(benchmark.verdict), gone),
    h("th", { scope: "row" },
      h("a", { href: target(benchmark) }, benchmark.name),
      h("small", { class: "where" }, benchmark.file)),
    h("td", { class: "n" }, last, line ? h("small", { class: "where" }, lineName(line)) : null),
    h("td", { class: "lg" }, line ? sparkline(line) : null),
    h("td", { class: "n md" }, count(benchmark.runs.length)),
    h("td", {}, moved ? lastChangeText(moved) : h("span", { class: "muted" }, "–")));
}

const MANY_TRENDS = 5; // above which the list has a search

function trendsTable(benchmarks) {
  const changed = (benchmark) => {
    const moved = lastChange(benchmark);
    return moved ? moved.run.time : null;
  };
  const list = sortedTable({
    caption: "Benchmarks",
    page: 50,
    empty: "No benchmark matches.",
    columns: [
      { key: "verdict", label: "Last verdict", class: "v" },
      { key: "name", label: "Benchmark", by: (benchmark) => benchmark.name },
      { key: "value", label: "Last value", class: "n" },
      { key: "course", label: "Course", class: "lg" },
      { key: "runs", label: "Runs", by: (benchmark) => benchmark.runs.length, first: -1, class: "n md" },
      { key: "moved", label: "Last change", by: changed, first: -1 },
    ],
    row: (benchmark) => [trendRow(benchmark)],
  });
  list.update(benchmarks);
  const input = (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    list.update(benchmarks.filter((benchmark) => benchmark.id.toLowerCase().includes(wanted)));
  };
  const search = h("label", {}, "Search", h("input", { type: "search", input }));
  return section("all", "Benchmarks",
    benchmarks.length > MANY_TRENDS ? h("div", { class: "tools" }, search) : null,
    list.element);
}

// -- one benchmark through the runs ------------------------------------------------------------------

const TREND_LEGEND = "The band is the 95 % interval. A square is a failed run, "
  + "and a dotted line marks where the level of the metric changed.";

function trendCard(line, runs) {
  const change = (at) => {
    const { time, commit } = runs[at];
    return h("p", {}, `changed on ${dayText(time)}`, commit ? [" at ", commitCode(commit)] : null);
  };
  return h("div", { class: "card" },
    h("h3", {}, h("code", {}, lineName(line))),
    lineChart(line, runs),
    line.changes.map(change));
}

function trendPart({ runs, lines }) {
  if (!lines.length) {
    return h("p", { class: "note" }, "There is only one run so far.");
  }
  return section("trend", "Trend",
    h("p", { class: "muted" }, TREND_LEGEND),
    h("div", { class: "grid" }, lines.map((line) => trendCard(line, runs))));
}

function valuesOfRuns(benchmark) {
  const { runs, lines } = benchmark;
  const place = `#/${encodeURIComponent(benchmark.id)}`;
  const row = (run, at) => h("tr", {},
    h("th", { scope: "row" },
      run.href ? h("a", { href: `${run.href}${place}` }, timeText(run.time)) : run.time),
    h("td", { class: "n" }, badge(run.verdict)),
    lines.map((line) => h("td", { class: "n" }, num(line.values[at]))));
  const newestFirst = runs.map(row).reverse();
  const names = ["Run", "Verdict", ...lines.map(lineName)];
  return section("each", "Runs", smallTable("Runs", names, newestFirst));
}

function trendPage(benchmark) {
  const [, kind] = WORDS[benchmark.verdict];
  return [
    h("nav", { class: "steps", "aria-label": "Benchmarks" }, h("a", { href: "#/" }, "← All runs")),
    h("div", { class: `verdict ${kind} one` },
      h("h1", { tabindex: "-1" }, benchmark.name, " ", badge(benchmark.verdict, true)),
      h("p", { class: "place" }, benchmark.id)),
    trendPart(benchmark),
    valuesOfRuns(benchmark),
  ];
}

// -- the site's first page ---------------------------------------------------------------------------

function siteHead(runs) {
  const last = runs[runs.length - 1];
  const [, kind] = WORDS[last.verdict];
  const red = `${count(last.red)} red of ${plural(last.benchmarks, "benchmark")}`;
  return h("div", { class: `verdict ${kind}` },
    h("h1", { tabindex: "-1" },
      badge(last.verdict, true),
      h("span", { class: "hidden-text" }, " – the last run")),
    h("p", { class: "lead" }, `${plural(runs.length, "run")}. The last one: ${red}.`));
}

function showSite(site, wanted) {
  const benchmark = site.benchmarks.find((one) => one.id === wanted);
  if (benchmark) {
    return [trendPage(benchmark), benchmark.name];
  }
  return [[siteHead(site.runs), trendsTable(site.benchmarks), runsTable(site.runs)], "Runs"];
}
