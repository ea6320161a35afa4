// The tasks of an agent in one list: which flipped, what was expected, and the answers of both sides.

const KINDS = { worse: "worse", better: "better", same: "unchanged", new: "new", gone: "gone", none: "no value" };
const NOISE = 1e-12;
const CLAMPED = 40; // letters of a task's id, which the list may clamp
const CELLS = 8; // attempts that are drawn as squares

const meanAt = (values, i) => (values ? values[i] : null);

function kindOf(found, about, i, change, less) {
  if (change !== null) {
    if (Math.abs(change) <= NOISE) {
      return "same";
    }
    return (change > 0) !== less ? "better" : "worse";
  }
  if (about.compared && found.rewards_now[i] === null) {
    return "gone";
  }
  if (about.compared && found.rewards_was[i] === null) {
    return "new";
  }
  return "none";
}

function taskItems(found, about, score, flips) {
  const column = found.scores.indexOf(score);
  const less = about.lower.includes(score);
  const items = found.ids.map((id, i) => {
    const was = meanAt(found.was[column], i);
    const now = meanAt(found.now[column], i);
    const change = was === null || now === null ? null : now - was;
    const kind = kindOf(found, about, i, change, less);
    const gain = less ? -change : change;
    const good = change === null ? null : gain;
    return { i, id, was, now, change, kind, good, notes: found.notes[i] || [], flip: flips.get(id) };
  });
  // of tasks that changed alike task 9 comes before task 10
  return items.sort((a, b) => collator.compare(a.id, b.id));
}

// A task's rewards as squares: filled by their size where they lie in [0, 1], else as numbers.
function strip(values, label) {
  if (!values) {
    return h("span", { class: "muted" }, "–");
  }
  const text = `${label}: ${values.map(short).join(", ")}`;
  const isShare = values.every((value) => value === null || (value >= 0 && value <= 1));
  if (!isShare) {
    return h("span", { class: "strip-text" }, values.slice(0, CELLS).map(brief).join(" "));
  }
  const square = (value) => {
    const whole = { 0: "zero", 1: "full" }[value] || "part";
    const cell = h("i", { class: value === null ? "none" : whole });
    if (value > 0 && value < 1) {
      cell.style.setProperty("--share", `${100 * value}%`);
    }
    return cell;
  };
  return h("span", { class: "strip", role: "img", "aria-label": text, title: text },
    values.slice(0, CELLS).map(square));
}

function placeOf(found, [, file, row]) {
  const source = found.files[file];
  if (!source) {
    return "";
  }
  return source.lines ? `${source.path}:${row}` : `${source.path}, row ${count(row)}`;
}

// The address of a task, or of one attempt at it.
const addressOf = (benchmark, ...task) => `${target(benchmark)}/${task.map(encodeURIComponent).join("/")}`;

// Opens the task that the address names.
let openTask = () => {};

// -- a task that is opened -----------------------------------------------------------------

function attemptsTable(found, item, several, address) {
  const now = found.rewards_now[item.i] || [];
  const was = found.rewards_was[item.i] || [];
  const rows = found.rows[item.i] || [];
  const length = Math.max(now.length, was.length);
  if (!length) {
    return null;
  }
  const lines = [];
  for (let k = 0; k < length; k += 1) {
    const row = rows[k];
    const sample = row ? row[0] : k;
    lines.push(h("tr", {},
      h("th", { scope: "row" }, h("a", { href: address(sample), "aria-label": `Address of attempt ${sample}` }, sample)),
      several ? h("td", { class: "n" }, k < was.length ? short(was[k]) : "–") : null,
      h("td", { class: "n" }, k < now.length ? short(now[k]) : "–"),
      h("td", {}, row ? h("code", { class: "place" }, placeOf(found, row)) : "–")));
  }
  const table = h("table", { class: "small" },
    h("caption", {}, "Attempts"),
    h("thead", {}, h("tr", {},
      h("th", { scope: "col" }, "Sample"),
      several ? h("th", { scope: "col", class: "n" }, "Before") : null,
      h("th", { scope: "col", class: "n" }, several ? "Now" : found.scores[0]),
      h("th", { scope: "col" }, "Row"))),
    h("tbody", {}, lines));
  return [
    scrolling(`Attempts at task ${item.id}`, table),
    length >= found.attempts
      ? h("p", { class: "muted" }, `At most ${found.attempts} attempts per task are shown.`) : null,
  ];
}

function otherScores(found, item, several) {
  const means = found.scores
    .map((name, c) => [name, meanAt(found.was[c], item.i), meanAt(found.now[c], item.i)])
    .slice(1)
    .filter(([, before, now]) => before !== null || now !== null);
  if (!means.length) {
    return null;
  }
  const table = h("table", { class: "small" },
    h("caption", {}, "Other scores, mean"),
    h("thead", {}, h("tr", {},
      h("th", { scope: "col" }, "Score"),
      several ? h("th", { scope: "col", class: "n" }, "Before") : null,
      h("th", { scope: "col", class: "n" }, "Now"))),
    h("tbody", {}, means.map(([name, before, now]) => h("tr", {},
      h("th", { scope: "row" }, name),
      several ? h("td", { class: "n" }, num(before)) : null,
      h("td", { class: "n" }, num(now))))));
  return scrolling(`Other scores of task ${item.id}`, table);
}

function messagesOf(item) {
  if (!item.notes.length) {
    return null;
  }
  const message = (note) => h("li", { class: note.kind ? "error" : "" },
    h("p", { class: "muted" },
      `sample ${note.sample}`,
      note.kind ? [" · ", h("code", {}, note.kind)] : null,
      note.scores ? ` · ${note.scores.join(", ")}` : null,
      note.row ? [" · ", h("code", { class: "place" }, note.row)] : null),
    h("p", { class: "pre", dir: "auto" }, note.reason));
  return h("div", {},
    h("p", { class: "caption" }, "Messages of scorers"),
    h("ul", { class: "messages" }, item.notes.map(message)));
}

function taskDetail(found, item, context) {
  const { several, address, talks, less, flips, verdict } = context;
  const talk = talks && Object.hasOwn(talks, item.id) ? talks[item.id] : null;
  return h("div", { class: "detail" },
    item.id.length > CLAMPED ? h("p", { class: "task-id" }, own(item.id)) : null,
    item.flip ? answersDetail(item.flip, talk, less) : withoutAnswers(flips, verdict),
    attemptsTable(found, item, several, address),
    otherScores(found, item, several),
    messagesOf(item));
}

// -- the list ------------------------------------------------------------------------------

function listColumns(several, shows) {
  const columns = [{ key: "id", label: "Task", by: (task) => task.id }];
  if (several) {
    columns.push({ key: "change", label: "Change", by: (task) => task.good, class: "n" });
    columns.push({ key: "attempts", label: "Attempts", class: shows.texts ? "md" : "" });
  } else {
    columns.push({ key: "now", label: "Value", by: (task) => task.now, class: "n" });
    columns.push({ key: "attempts", label: "Attempts" });
  }
  if (shows.expected) {
    columns.push({ key: "expected", label: "Expected", class: "md" });
  }
  if (shows.before) {
    columns.push({ key: "before", label: "Before", class: "md" });
  }
  if (shows.texts) {
    columns.push({ key: "answer", label: "Now" });
  }
  if (shows.noted) {
    columns.push({ key: "notes", label: "Messages", by: (task) => task.notes.length, first: -1, class: "n md" });
  }
  return columns;
}

function listRow(task, found, several, shows, button) {
  const way = { better: "up", worse: "down" }[task.kind] || "";
  const changed = task.kind === "same" ? "0" : plus(task.change ?? 0);
  const cells = [h("th", { scope: "row", class: "task" }, button)];
  if (several) {
    cells.push(h("td", { class: "n" },
      h("span", { class: `change ${way}` }, task.change === null ? KINDS[task.kind] : changed)));
    const before = strip(found.rewards_was[task.i], "before");
    const now = strip(found.rewards_now[task.i], "now");
    const strips = h("span", { class: "both-strips" }, before, " → ", now);
    cells.push(h("td", { class: shows.texts ? "md" : "" }, strips));
  } else {
    cells.push(h("td", { class: "n" }, short(task.now)));
    cells.push(h("td", {}, strip(found.rewards_now[task.i], "now")));
  }
  const pair = task.flip ? tellingAttempts(task.flip, shows.less) : [null, null];
  if (shows.expected) {
    const text = task.flip ? task.flip.reference : "";
    cells.push(h("td", { class: "md excerpt" }, text ? own(shortened(text, 80)) : "–"));
  }
  if (shows.before) {
    cells.push(h("td", { class: "md excerpt" }, excerpt(pair[0], null, shows.less)));
  }
  if (shows.texts) {
    cells.push(h("td", { class: "excerpt" }, excerpt(pair[1], pair[0], shows.less)));
  }
  if (shows.noted) {
    cells.push(h("td", { class: "n md" }, task.notes.length || ""));
  }
  return h("tr", {}, cells);
}

// j and k go to the next and the previous task of the list, o opens it.
function listKeys(table) {
  return (event) => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const buttons = [...table.querySelectorAll(".open")];
    const at = buttons.findIndex((button) => button.closest("tr").contains(document.activeElement));
    if (event.key === "o" && at >= 0) {
      buttons[at].click();
    } else if (event.key === "j" || event.key === "k") {
      const step = event.key === "j" ? 1 : -1;
      const next = buttons[at < 0 ? 0 : at + step];
      if (next) {
        next.focus();
        next.scrollIntoView({ block: "nearest" });
      }
    }
  };
}

function labelled(text, control) {
  return h("label", {}, text, control);
}

// -- which tasks are wanted ----------------------------------------------------------------

// A view is the list of one agent's tasks: what is found, what is wanted, and how it is shown.
function viewOf(found, about, prefix, benchmark, agentFlips, talks) {
  const hasText = (attempts) => attempts.some((attempt) => attempt.text);
  // a baseline may keep no answers
  const before = agentFlips.some((flip) => hasText(flip.before));
  const now = agentFlips.some((flip) => hasText(flip.now));
  return {
    found,
    about,
    prefix,
    benchmark,
    agentFlips,
    talks,
    flips: new Map(agentFlips.map((flip) => [flip.task, flip])),
    several: Boolean(about.compared),
    less: about.lower.includes(about.reward),
    shows: {
      less: about.lower.includes(about.reward),
      before,
      texts: before || now,
      expected: agentFlips.some((flip) => flip.reference),
      noted: Object.keys(found.notes).length > 0,
    },
    wanted: { text: "", kind: "", score: about.reward, transition: null, slice: null },
    items: [],
    list: null, // the table
    matrix: h("div", { class: "matrix" }),
  };
}

function rescore(view) {
  view.items = taskItems(view.found, view.about, view.wanted.score, view.flips);
}

function isOfKind(task, kind) {
  if (kind === "messages") {
    return task.notes.length > 0;
  }
  return !kind || task.kind === kind;
}

function mentions(task, text) {
  const isInNotes = (note) => note.reason.toLowerCase().includes(text);
  return !text || task.id.toLowerCase().includes(text) || task.notes.some(isInNotes);
}

function isInLevel(value, level) {
  return value !== null && value >= level.low && value <= level.high;
}

function isInSlice(view, task) {
  const { slice } = view.wanted;
  return !slice || view.found.slices[slice.field].places[task.i] === slice.value;
}

function isWanted(view, task) {
  const { kind, text, transition } = view.wanted;
  const moved = !transition
    || (isInLevel(task.was, transition.before) && isInLevel(task.now, transition.now));
  return isOfKind(task, kind) && mentions(task, text) && moved && isInSlice(view, task);
}

function showWanted(view) {
  const shown = view.items.filter((task) => isWanted(view, task));
  view.list.update(shown);
  return shown.length;
}

// The same after a reader has asked for it, who is told how many there are.
function showAsked(view) {
  say(plural(showWanted(view), "task"));
}

// -- the matrix of transitions --------------------------------------------------------------

// [before, now, tasks]: of all tasks, or of those of the slice that is wanted.
function pairsOf(view) {
  const { found, about, wanted } = view;
  const isCut = found.of > found.ids.length;
  if (!wanted.slice && isCut) {
    return about.compared.pairs;
  }
  return taskItems(found, about, about.reward, view.flips)
    .filter((task) => task.change !== null && isInSlice(view, task))
    .map((task) => [task.was, task.now, 1]);
}

function drawMatrix(view) {
  const pairs = pairsOf(view);
  if (!pairs.length) {
    view.matrix.replaceChildren();
    return;
  }
  const before = attemptsOfEach(view.found.rewards_was);
  const now = attemptsOfEach(view.found.rewards_now);
  const names = [(level) => levelName(level, before), (level) => levelName(level, now)];
  const choose = (transition) => {
    view.wanted.transition = transition;
    showAsked(view);
  };
  view.matrix.replaceChildren(transitionTable(pairs, names, view.less, choose));
}

// -- tasks that are opened ---------------------------------------------------------------------

function toggleTask(view, item, button) {
  const { found, prefix, benchmark } = view;
  const row = button.closest("tr");
  const isOpen = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) {
    row.nextElementSibling.remove();
    return;
  }
  const context = {
    several: view.several,
    less: view.less,
    talks: view.talks,
    flips: view.agentFlips,
    verdict: benchmark.verdict,
    address: (sample) => addressOf(benchmark, prefix, item.id, sample),
  };
  const columns = view.list.table.tHead.rows[0].cells.length;
  const detail = h("td", { colspan: columns }, taskDetail(found, item, context));
  row.after(h("tr", { class: "opened", id: `${prefix}-task-${item.i}` }, detail));
  history.replaceState(history.state, "", addressOf(benchmark, prefix, item.id));
}

function openButton(view, task) {
  const name = h("bdi", { dir: "auto", title: task.id }, shortened(task.id, 120));
  return h("button", {
    type: "button",
    class: "open",
    "aria-expanded": "false",
    "aria-controls": `${view.prefix}-task-${task.i}`,
    click: (event) => toggleTask(view, task, event.currentTarget),
  }, h("span", { class: "twist", "aria-hidden": "true" }), name);
}

// Shows the task that the address names alone, opened, with its attempt marked.
function openNamed(view, search, id, sample) {
  const item = view.items.find((task) => task.id === id);
  if (!item) {
    return;
  }
  search.value = item.id;
  view.wanted.text = item.id.toLowerCase();
  view.list.update([item]);
  const button = view.list.table.querySelector(".open");
  button.click();
  const rows = [...view.list.table.querySelectorAll(".opened tbody tr")];
  const row = rows.find((tr) => tr.cells[0].textContent === sample);
  if (row) {
    row.classList.add("named");
  }
  button.scrollIntoView({ block: "center" });
  button.focus({ preventScroll: true });
}

// -- the tools above the list ------------------------------------------------------------------

const option = (value, text) => h("option", { value }, text);

function searchInput(view) {
  return h("input", {
    type: "search",
    class: "find-task",
    input: (event) => {
      view.wanted.text = event.target.value.trim().toLowerCase();
      showAsked(view);
    },
  });
}

function kindSelect(view) {
  const there = new Set(view.items.map((task) => task.kind));
  if (there.size < 2 && !view.shows.noted) {
    return null;
  }
  const kinds = Object.keys(KINDS).filter((kind) => there.has(kind));
  const change = (event) => {
    view.wanted.kind = event.target.value;
    showAsked(view);
  };
  return labelled("Show", h("select", { class: "kind", change },
    option("", "all"),
    kinds.map((kind) => option(kind, KINDS[kind])),
    view.shows.noted ? option("messages", "with messages") : null));
}

function sliceSelect(view, sliced, field) {
  const change = (event) => {
    const { value } = event.target;
    view.wanted.slice = value === "" ? null : { field, value: Number(value) };
    view.wanted.transition = null;
    if (view.several) {
      drawMatrix(view);
    }
    showAsked(view);
  };
  return labelled(sliced.field, h("select", { class: "slice", change },
    option("", "all"),
    sliced.values.map((value, place) => option(place, value))));
}

function scoreSelect(view) {
  const { scores } = view.found;
  if (scores.length < 2) {
    return null;
  }
  const change = (event) => {
    view.wanted.score = event.target.value;
    rescore(view);
    showAsked(view);
  };
  return labelled("Score", h("select", { class: "score", change },
    scores.map((name) => option(name, name))));
}

const KEYS = "j, k: next and previous task; o: open it";

function taskTools(view, search) {
  const slices = view.found.slices || [];
  return h("div", { class: "tools" },
    labelled("Search tasks", search),
    kindSelect(view),
    slices.map((sliced, field) => sliceSelect(view, sliced, field)),
    scoreSelect(view),
    h("p", { class: "muted keys" }, KEYS));
}

// -- the whole ---------------------------------------------------------------------------------

function taskTable(view) {
  const { shows, several, less } = view;
  const worstFirst = { key: "now", way: less ? -1 : 1 };
  const list = sortedTable({
    caption: "Tasks",
    page: 25,
    sort: several ? { key: "change", way: 1 } : worstFirst,
    empty: "No task matches.",
    columns: listColumns(several, shows),
    row: (task) => [listRow(task, view.found, several, shows, openButton(view, task))],
  });
  list.table.classList.add("task-list");
  list.table.addEventListener("keydown", listKeys(list.table));
  return list;
}

function cutNote({ ids, of: all }) {
  if (all <= ids.length) {
    return null;
  }
  return h("p", { class: "note" },
    `${count(ids.length)} of ${count(all)} tasks are listed: the worse ones, those without a value, `,
    "the better ones, then the lowest. report.json has them all.");
}

function tasksPart(found, about, prefix, benchmark, agentFlips, talks) {
  const view = viewOf(found, about, prefix, benchmark, agentFlips, talks);
  view.list = taskTable(view);
  rescore(view);
  showWanted(view);
  if (view.several && about.compared.pairs.length) {
    drawMatrix(view);
  }
  const search = searchInput(view);
  // each agent's list opens the tasks of its own
  const ofOthers = openTask;
  openTask = (agent, id, sample) => {
    if (agent === prefix) {
      openNamed(view, search, id, sample);
    } else {
      ofOthers(agent, id, sample);
    }
  };
  return h("div", { class: view.several ? "tasks-grid" : "" },
    view.several ? view.matrix : null,
    h("div", { class: "tasks-list" },
      taskTools(view, search),
      cutNote(found),
      view.list.element));
}
