// The tasks of an agent: which flipped, how each was before, where its rows stand.

const KINDS = { worse: "worse", better: "better", same: "unchanged", new: "new", gone: "gone", none: "no value" };
const NOISE = 1e-12;

const mean = (values, i) => (values ? values[i] : null);

function taskItems(found, about, score) {
  const column = found.scores.indexOf(score);
  const less = about.lower.includes(score);
  return found.ids.map((id, i) => {
    const was = mean(found.was[column], i);
    const now = mean(found.now[column], i);
    const change = was === null || now === null ? null : now - was;
    let kind = "none";
    if (change !== null) kind = Math.abs(change) <= NOISE ? "same" : (change > 0) !== less ? "better" : "worse";
    else if (about.compared && found.rewards_now[i] === null) kind = "gone";
    else if (about.compared && found.rewards_was[i] === null) kind = "new";
    return { i, id, was, now, change, kind, good: change === null ? null : less ? -change : change, notes: found.notes[i] || [] };
  });
}

// A task's rewards as cells: filled by their size where they lie in [0, 1], else as numbers.
function strip(values, label) {
  if (!values) return h("span", { class: "muted" }, "–");
  const text = `${label}: ${values.map(short).join(", ")}`;
  if (values.some((v) => v !== null && (v < 0 || v > 1))) return h("span", { class: "strip-text" }, values.slice(0, 8).map(brief).join(" "));
  return h("span", { class: "strip", role: "img", "aria-label": text, title: text }, values.map((v) => {
    const cell = h("i", { class: v === null ? "none" : v === 1 ? "full" : v === 0 ? "zero" : "part" });
    if (v !== null && v > 0 && v < 1) cell.style.setProperty("--share", `${100 * v}%`);
    return cell;
  }));
}

const placeOf = (found, [, file, row]) => {
  const of = found.files[file];
  return of ? (of.lines ? `${of.path}:${row}` : `${of.path}, row ${count(row)}`) : "";
};

function placesInShort(found, i) {
  const rows = found.rows[i];
  if (!rows || !rows.length) return "";
  const [, file, from] = rows[0];
  const inRow = rows.every((r, k) => r[1] === file && r[2] === from + k);
  const of = found.files[file];
  if (!of) return "";
  const name = of.path.split("/").pop();
  const last = rows[rows.length - 1][2];
  if (inRow && last > from) return of.lines ? `${name}:${from}–${last}` : `${name}, rows ${from}–${last}`;
  return (of.lines ? `${name}:${from}` : `${name}, row ${from}`) + (rows.length > 1 ? " …" : "");
}

// The address of a task, or of one attempt at it.
const addressOf = (benchmark, ...task) => `${target(benchmark)}/${task.map(encodeURIComponent).join("/")}`;

// Opens the task that the address names.
let openTask = () => {};

function taskDetail(found, item, several, address) {
  const { i } = item;
  const now = found.rewards_now[i] || [];
  const was = found.rewards_was[i] || [];
  const rows = found.rows[i] || [];
  const length = Math.max(now.length, was.length);
  const lines = [];
  for (let k = 0; k < length; k += 1) {
    const row = rows[k];
    lines.push(h("tr", {},
      h("th", { scope: "row" }, h("a", { href: address(row ? row[0] : k), "aria-label": `Address of attempt ${row ? row[0] : k}` }, row ? row[0] : k)),
      several ? h("td", { class: "n" }, k < was.length ? short(was[k]) : "–") : null,
      h("td", { class: "n" }, k < now.length ? short(now[k]) : "–"),
      h("td", {}, row ? h("code", { class: "place" }, placeOf(found, row)) : "–")));
  }
  const means = found.scores.map((name, c) => [name, mean(found.was[c], i), mean(found.now[c], i)]).filter((m, c) => c > 0 && (m[1] !== null || m[2] !== null));
  return h("div", { class: "detail" },
    length ? scrolling(`Attempts at task ${item.id}`, h("table", { class: "small" }, h("caption", {}, "Attempts"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Sample"), several ? h("th", { scope: "col", class: "n" }, "Before") : null,
        h("th", { scope: "col", class: "n" }, several ? "Now" : found.scores[0]), h("th", { scope: "col" }, "Row"))),
      h("tbody", {}, lines))) : null,
    length >= found.attempts ? h("p", { class: "muted" }, `At most ${found.attempts} attempts per task are shown.`) : null,
    means.length ? scrolling(`Other scores of task ${item.id}`, h("table", { class: "small" }, h("caption", {}, "Other scores, mean"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Score"), several ? h("th", { scope: "col", class: "n" }, "Before") : null, h("th", { scope: "col", class: "n" }, "Now"))),
      h("tbody", {}, means.map(([name, before, after]) => h("tr", {}, h("th", { scope: "row" }, name), several ? h("td", { class: "n" }, num(before)) : null, h("td", { class: "n" }, num(after))))))) : null,
    item.notes.length ? h("div", {}, h("p", { class: "caption" }, "Messages of scorers"), h("ul", { class: "messages" }, item.notes.map((note) =>
      h("li", { class: note.kind ? "error" : "" },
        h("p", { class: "muted" }, `sample ${note.sample}`, note.kind ? [" · ", h("code", {}, note.kind)] : null, note.scores ? ` · ${note.scores.join(", ")}` : null, note.row ? [" · ", h("code", { class: "place" }, note.row)] : null),
        h("p", { class: "pre" }, note.reason))))) : null);
}

function tasksPart(found, about, prefix, benchmark) {
  const several = Boolean(about.compared);
  const wanted = { text: "", kind: "", score: about.reward };
  let items = [];
  const toggle = (item, button) => {
    const row = button.closest("tr");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) row.nextElementSibling.remove();
    else row.after(h("tr", { class: "opened", id: `${prefix}-task-${item.i}` }, h("td", { colspan: list.table.tHead.rows[0].cells.length }, taskDetail(found, item, several, (sample) => addressOf(benchmark, prefix, item.id, sample)))));
    if (!open) history.replaceState(null, "", addressOf(benchmark, prefix, item.id));
  };
  const noted = Object.keys(found.notes).length > 0;
  const list = sortedTable({
    caption: "Tasks",
    page: 25,
    sort: several ? { key: "change", way: 1 } : { key: "now", way: about.lower.includes(about.reward) ? -1 : 1 },
    empty: "No task matches.",
    columns: [
      { key: "id", label: "Task", by: (t) => t.id },
      ...(several ? [{ key: "was", label: "Before", by: (t) => t.was, class: "n md" }] : []),
      { key: "now", label: several ? "Now" : "Value", by: (t) => t.now, class: several ? "n md" : "n" },
      ...(several ? [{ key: "change", label: "Change", by: (t) => t.good, class: "n" }] : []),
      ...(several ? [{ key: "strip-was", label: "Attempts before", class: "lg" }] : []),
      { key: "strip", label: several ? "Attempts now" : "Attempts", class: several ? "lg" : "" },
      ...(noted ? [{ key: "notes", label: "Messages", by: (t) => t.notes.length, first: -1, class: "n md" }] : []),
      { key: "row", label: "Rows", class: "lg" },
    ],
    row: (t) => {
      const button = h("button", {
        type: "button", class: "open", "aria-expanded": "false", "aria-controls": `${prefix}-task-${t.i}`,
        click: (e) => toggle(t, e.currentTarget),
      }, h("span", { class: "twist", "aria-hidden": "true" }), t.id);
      const kind = { better: "up", worse: "down" }[t.kind] || "";
      return [h("tr", {},
        h("th", { scope: "row", class: "task" }, button),
        several ? h("td", { class: "n md" }, short(t.was)) : null,
        h("td", { class: several ? "n md" : "n" }, short(t.now)),
        several ? h("td", { class: "n" }, h("span", { class: `change ${kind}` }, t.change === null ? KINDS[t.kind] : t.kind === "same" ? "0" : plus(t.change))) : null,
        several ? h("td", { class: "lg" }, strip(found.rewards_was[t.i], "before")) : null,
        h("td", { class: several ? "lg" : "" }, strip(found.rewards_now[t.i], "now")),
        noted ? h("td", { class: "n md" }, t.notes.length || "") : null,
        h("td", { class: "lg" }, h("code", { class: "place" }, placesInShort(found, t.i))))];
    },
  });
  const update = (asked) => {
    const shown = items.filter((t) => (!wanted.kind || (wanted.kind === "messages" ? t.notes.length : t.kind === wanted.kind))
      && (!wanted.text || t.id.toLowerCase().includes(wanted.text) || t.notes.some((n) => n.reason.toLowerCase().includes(wanted.text))));
    list.update(shown);
    if (asked) say(plural(shown.length, "task"));
  };
  const rescore = () => { items = taskItems(found, about, wanted.score); };
  rescore();
  const there = new Set(items.map((t) => t.kind));
  const search = h("input", { type: "search", class: "find-task", input: (e) => { wanted.text = e.target.value.trim().toLowerCase(); update(true); } });
  const before = openTask;
  openTask = (agent, id, sample) => {
    const item = agent === prefix && items.find((t) => t.id === id);
    if (!item) { if (agent !== prefix) before(agent, id, sample); return; }
    search.value = id;
    wanted.text = id.toLowerCase();
    list.update([item]);
    const button = list.table.querySelector(".open");
    button.click();
    const rows = [...list.table.querySelectorAll(".opened tbody tr")];
    const row = rows.find((r) => r.cells[0].textContent === sample);
    if (row) row.classList.add("named");
    button.scrollIntoView({ block: "center" });
    button.focus({ preventScroll: true });
  };
  const option = (value, text) => h("option", { value }, text);
  const tools = h("div", { class: "tools" },
    h("label", {}, "Search tasks", search),
    there.size > 1 || noted ? h("label", {}, "Show", h("select", { class: "kind", change: (e) => { wanted.kind = e.target.value; update(true); } },
      option("", "all"), Object.keys(KINDS).filter((k) => there.has(k)).map((k) => option(k, KINDS[k])), noted ? option("messages", "with messages") : null)) : null,
    found.scores.length > 1 ? h("label", {}, "Score", h("select", { class: "score", change: (e) => { wanted.score = e.target.value; rescore(); update(true); } },
      found.scores.map((name) => option(name, name)))) : null);
  update(false);
  const cut = found.of > found.ids.length
    ? h("p", { class: "note" }, `${count(found.ids.length)} of ${count(found.of)} tasks are listed: the worse ones, those without a value, the better ones, then the lowest. report.json has them all.`) : null;
  return [cut, tools, list.element];
}
