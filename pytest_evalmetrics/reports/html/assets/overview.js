// The run at a glance: the verdict, what to fix, every benchmark in one table.

// When the run ended, and what it judged.
function originLine(origin) {
  const parts = [];
  if (origin.time) parts.push(h("time", { datetime: origin.time }, origin.time.replace("T", " ").replace("Z", " UTC")));
  if (origin.branch) parts.push(origin.branch);
  if (origin.commit) parts.push(h("code", {}, origin.commit.slice(0, 10)));
  if (/^https?:/.test(origin.url || "")) parts.push(h("a", { href: origin.url, rel: "noreferrer" }, "CI job"));
  return parts.flatMap((part) => [" · ", part]).slice(1);
}

const target = (item) => `#/${encodeURIComponent(item.id)}`;

function verdictLine(run) {
  const known = run.counts;
  const bad = known.FAIL + known.INCONCLUSIVE;
  if (!run.benchmarks && !run.lost) return "No benchmark was evaluated.";
  const phrases = [];
  if (known.FAIL) phrases.push(`${count(known.FAIL)} ${known.FAIL === 1 ? "fails" : "fail"}`);
  if (known.INCONCLUSIVE) phrases.push(`${count(known.INCONCLUSIVE)} could not be judged`);
  if (known.WARN) phrases.push(`${count(known.WARN)} ${known.WARN === 1 ? "warns" : "warn"}`);
  if (run.lost) phrases.push(`${count(run.lost)} ${run.lost === 1 ? "was" : "were"} not evaluated`);
  const all = plural(run.benchmarks + run.lost, "benchmark");
  const left = (run.skips ? ` ${plural(run.skips, "benchmark")} ${run.skips === 1 ? "was" : "were"} skipped.` : "")
    + (run.deselected ? ` ${count(run.deselected)} ${run.deselected === 1 ? "was" : "were"} deselected.` : "");
  if (!bad && !known.WARN && !run.lost) {
    return (run.benchmarks === 1 ? "The benchmark passes." : `All ${all} pass.`) + left;
  }
  return `Of ${all}, ${phrases.join(", ")}.`
    + (run.known_to_fail ? ` ${plural(run.known_to_fail, "benchmark")} expected to fail (xfail) ${run.known_to_fail === 1 ? "does" : "do"} not count.` : "")
    + left;
}

function verdictCard(run) {
  const [, kind] = WORDS[run.verdict];
  const parts = [["FAIL", run.counts.FAIL], ["INCONCLUSIVE", run.counts.INCONCLUSIVE + run.lost], ["WARN", run.counts.WARN], ["PASS", run.counts.PASS]].filter((p) => p[1]);
  return h("div", { class: `verdict ${kind}` },
    h("h1", { id: "verdict", tabindex: "-1" }, badge(run.verdict, true), h("span", { class: "hidden-text" }, " – the run")),
    h("p", { class: "lead" }, verdictLine(run)),
    run.chance ? h("p", { class: "muted" }, `${run.chance}.`) : null,
    parts.length > 1 || run.benchmarks > 1 ? h("div", { class: "share", "aria-hidden": "true" }, parts.map(([verdict, n]) => {
      const piece = h("span", { class: WORDS[verdict][1] });
      piece.style.flexGrow = String(n);
      return piece;
    })) : null,
    parts.length > 1 ? h("ul", { class: "counts" }, parts.map(([verdict, n]) =>
      h("li", {}, h("span", { class: `dot ${WORDS[verdict][1]}`, "aria-hidden": "true" }), `${count(n)} ${WORDS[verdict][2].toLowerCase()}`))) : null);
}

function inTheWay(run, rows) {
  const telling = rows.filter((r) => r.reason && !r.xfail && r.verdict !== "PASS");
  const lost = run.not_evaluated;
  if (!telling.length && !lost.length) return null;
  const shown = telling.slice(0, run.causes.length ? 3 : 6);
  const entry = (verdict, head, text, more) => h("li", { class: WORDS[verdict][1] },
    h("p", { class: "what" }, h("span", { class: "sign", "aria-hidden": "true" }, WORDS[verdict][0]), head,
      h("span", { class: "hidden-text" }, ` ${WORDS[verdict][2]}`)),
    h("p", {}, text, more ? h("span", { class: "muted" }, ` (and ${plural(more, "more reason")})`) : null));
  return h("section", { "aria-labelledby": "way", class: "part" },
    h("h2", { id: "way" }, "What to fix"),
    run.causes.length ? h("ul", { class: "reasons causes" }, run.causes.map(([head, text, command]) => h("li", { class: head.startsWith("INC") ? "unsure" : head.startsWith("and") ? "left" : "fail" },
      h("p", { class: "what" }, head), text ? h("p", {}, text) : null, command ? h("p", {}, h("code", {}, command)) : null))) : null,
    h("ul", { class: "reasons" },
      shown.map((r) => entry(r.verdict, h("a", { href: target(r) }, r.name), r.reason, r.reasons - 1)),
      lost.slice(0, 8).map((id) => entry("INCONCLUSIVE", h("span", {}, id), run.broken_off.includes(id)
        ? "It stopped after a check, before its end. Further checks may be missing."
        : "It was collected but not evaluated: a crash, -x, or an interrupt."))),
    telling.length > shown.length || run.lost > 8
      ? h("p", { class: "muted" }, `and ${count(telling.length - shown.length + Math.max(0, run.lost - 8))} more, in the table below`) : null);
}

function skippedOnes(run) {
  if (!run.skips) return null;
  const shown = run.skipped.slice(0, 20);
  return h("section", { "aria-labelledby": "skipped", class: "part" },
    h("h2", { id: "skipped" }, "Skipped"),
    h("p", { class: "muted" }, "Skipped on purpose. This report has no numbers of theirs."),
    h("ul", { class: "reasons" }, shown.map((s) => h("li", { class: "left" }, h("p", { class: "what" }, s.id), h("p", {}, s.reason)))),
    run.skips > shown.length ? h("p", { class: "muted" }, `and ${count(run.skips - shown.length)} more`) : null);
}

function benchmarksTable(run, rows) {
  const order = ["FAIL", "INCONCLUSIVE", "WARN", "PASS"];
  const verdictOf = (r) => order.indexOf(r.verdict) + (r.xfail ? 0.5 : 0);
  const of = (name) => (r) => (r.metric ? r.metric[name] : null);
  const list = sortedTable({
    caption: "Benchmarks",
    sort: { key: "verdict", way: 1 },
    empty: "No benchmark matches.",
    columns: [
      { key: "verdict", label: "Verdict", by: verdictOf, class: "v" },
      { key: "name", label: "Benchmark", by: (r) => r.name },
      { key: "metric", label: "Metric", by: of("name"), class: "md" },
      { key: "value", label: "Value", by: of("value"), class: "n" },
      { key: "bar", label: "Interval", class: "lg" },
      { key: "was", label: "Baseline", by: of("baseline"), class: "n md" },
      { key: "change", label: "Change", by: (r) => (r.metric && r.metric.change ? r.metric.change[0] : null), class: "n" },
      { key: "tasks", label: "Tasks", by: (r) => r.tasks, class: "n md" },
    ],
    row: (r) => {
      const m = r.metric;
      return [h("tr", {},
        h("td", { class: "v" }, badge(r.verdict), r.xfail ? h("small", { class: "muted" }, " known (xfail)") : null),
        h("th", { scope: "row" }, h("a", { href: target(r) }, r.name), h("small", { class: "where" }, r.file)),
        h("td", { class: "md" }, m ? h("code", {}, m.name) : "–"),
        h("td", { class: "n" }, m ? num(m.value) : "–", m ? h("small", { class: "sm-only muted" }, ` ${m.name}`) : null),
        h("td", { class: "lg" }, m ? intervalBar(m) : "–"),
        h("td", { class: "n md" }, m ? num(m.baseline) : "–"),
        h("td", { class: "n" }, m && m.change ? changeText([m.change[0]], m.less, r.verdict) : h("span", { class: "muted" }, "–")),
        h("td", { class: "n md" }, count(r.tasks), r.missing ? h("small", { class: "change down" }, ` ${count(r.missing)} missing`) : null))];
    },
  });
  const wanted = { text: "", verdict: "" };
  const update = () => {
    const found = rows.filter((r) => (!wanted.verdict || r.verdict === wanted.verdict)
      && (!wanted.text || `${r.id} ${r.metric ? r.metric.name : ""} ${r.reason}`.toLowerCase().includes(wanted.text)));
    list.update(found);
    if (wanted.text || wanted.verdict) say(plural(found.length, "benchmark"));
  };
  const box = rows.length > 5 ? h("div", { class: "tools" },
    h("label", {}, "Search", h("input", { type: "search", id: "find-benchmark", input: (e) => { wanted.text = e.target.value.trim().toLowerCase(); update(); } })),
    h("label", {}, "Verdict", h("select", { change: (e) => { wanted.verdict = e.target.value; update(); } },
      h("option", { value: "" }, "all"), order.filter((v) => run.counts[v]).map((v) => h("option", { value: v }, WORDS[v][2].toLowerCase()))))) : null;
  update();
  return h("section", { "aria-labelledby": "all", class: "part" }, h("h2", { id: "all" }, "Benchmarks"), leftOut(run), box, list.element);
}

// Each benchmark in a row and each agent in a column, where there are several.
function agentsTable(rows) {
  const several = rows.filter((r) => Object.keys(r.by_agent).length);
  const agents = [...new Set(several.flatMap((r) => Object.keys(r.by_agent)))];
  if (!agents.length) return null;
  const red = (agent) => several.filter((r) => ["FAIL", "INCONCLUSIVE"].includes((r.by_agent[agent] || [])[0])).length;
  agents.sort((a, b) => red(b) - red(a));
  const cell = (r, agent) => {
    if (!Object.hasOwn(r.by_agent, agent)) return h("td", { class: "n muted" }, "–");
    const [verdict, value] = r.by_agent[agent];
    const [sign, kind, word] = WORDS[verdict] || ["", "none", "not gated"];
    return h("td", { class: "n" }, h("span", { class: `change mark ${kind}` }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "hidden-text" }, word), " ", num(value)));
  };
  const list = sortedTable({
    caption: "Agents", page: 25,
    columns: [{ key: "name", label: "Benchmark", by: (r) => r.name }, { key: "metric", label: "Metric", class: "md" },
      ...agents.map((agent, k) => ({ key: `a${k}`, label: red(agent) ? `${agent} (${count(red(agent))} red)` : agent, class: "n" }))],
    row: (r) => [h("tr", {}, h("th", { scope: "row" }, h("a", { href: target(r) }, r.name)),
      h("td", { class: "md" }, r.metric ? h("code", {}, r.metric.name) : "–"), agents.map((agent) => cell(r, agent)))],
  });
  list.update(several);
  return section("agents", "Agents", list.element);
}

function leftOut(run) {
  const { rows, about, tasks, brief: cut, short } = run.left_out;
  const phrases = [];
  if (rows) phrases.push(`${plural(rows, "benchmark")} ${rows === 1 ? "is" : "are"} not in this table`);
  if (about) phrases.push(`${plural(about, "benchmark")} ${about === 1 ? "has" : "have"} no page of ${about === 1 ? "its" : "their"} own`);
  if (short) phrases.push(`${plural(short, "benchmark")} that ${short === 1 ? "fails has" : "fail have"} a short page`);
  if (tasks) phrases.push(`${plural(tasks, "benchmark")} ${tasks === 1 ? "has" : "have"} no tasks listed`);
  if (cut) phrases.push(`${plural(cut, "benchmark")} ${cut === 1 ? "has" : "have"} only fifty tasks listed`);
  return phrases.length ? h("p", { class: "note" }, `Omitted to keep this page small: ${phrases.join("; ")}. Failures are kept first; report.json has everything.`) : null;
}

function overviewPage(run, rows) {
  const parts = [verdictCard(run), inTheWay(run, rows), agentsTable(rows)];
  if (rows.length) parts.push(benchmarksTable(run, rows));
  parts.push(skippedOnes(run));
  return parts;
}
