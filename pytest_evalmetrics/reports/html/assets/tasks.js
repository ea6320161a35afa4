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
    const good = change === null ? null : (less ? -change : change);
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

function listColumns(several, hasTexts, hasExpected, noted) {
  const columns = [{ key: "id", label: "Task", by: (task) => task.id }];
  if (several) {
    columns.push({ key: "change", label: "Change", by: (task) => task.good, class: "n" });
    columns.push({ key: "attempts", label: "Attempts", class: hasTexts ? "md" : "" });
  } else {
    columns.push({ key: "now", label: "Value", by: (task) => task.now, class: "n" });
    columns.push({ key: "attempts", label: "Attempts" });
  }
  if (hasExpected) {
    columns.push({ key: "expected", label: "Expected", class: "md" });
  }
  if (hasTexts) {
    columns.push({ key: "before", label: "Before", class: "md" });
    columns.push({ key: "answer", label: "Now" });
  }
  if (noted) {
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
    cells.push(h("td", { class: shows.texts ? "md" : "" },
      h("span", { class: "both-strips" }, strip(found.rewards_was[task.i], "before"), " → ", strip(found.rewards_now[task.i], "now"))));
  } else {
    cells.push(h("td", { class: "n" }, short(task.now)));
    cells.push(h("td", {}, strip(found.rewards_now[task.i], "now")));
  }
  const pair = task.flip ? tellingAttempts(task.flip, shows.less) : [null, null];
  if (shows.expected) {
    const text = task.flip ? task.flip.reference : "";
    cells.push(h("td", { class: "md excerpt" }, text ? own(shortened(text, 80)) : "–"));
  }
  if (shows.texts) {
    cells.push(h("td", { class: "md excerpt" }, excerpt(pair[0], null, shows.less)));
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

const KEYS = "j, k: next and previous task; o: open it";

function tasksPart(found, about, prefix, benchmark, agentFlips, talks) {
  const several = Boolean(about.compared);
  const less = about.lower.includes(about.reward);
  const flips = new Map(agentFlips.map((flip) => [flip.task, flip]));
  const shows = {
    less,
    texts: agentFlips.some((flip) => [...flip.before, ...flip.now].some((attempt) => attempt.text)),
    expected: agentFlips.some((flip) => flip.reference),
    noted: Object.keys(found.notes).length > 0,
  };
  const wanted = { text: "", kind: "", score: about.reward, transition: null, slice: null };
  let items = [];
  const context = { several, less, talks, flips: agentFlips, verdict: benchmark.verdict };
  const toggle = (item, button) => {
    const row = button.closest("tr");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
      row.nextElementSibling.remove();
      return;
    }
    const address = (sample) => addressOf(benchmark, prefix, item.id, sample);
    const columns = list.table.tHead.rows[0].cells.length;
    row.after(h("tr", { class: "opened", id: `${prefix}-task-${item.i}` },
      h("td", { colspan: columns }, taskDetail(found, item, { ...context, address }))));
    history.replaceState(history.state, "", addressOf(benchmark, prefix, item.id));
  };
  const list = sortedTable({
    caption: "Tasks",
    page: 25,
    sort: several ? { key: "change", way: 1 } : { key: "now", way: less ? -1 : 1 },
    empty: "No task matches.",
    columns: listColumns(several, shows.texts, shows.expected, shows.noted),
    row: (task) => {
      const button = h("button", {
        type: "button", class: "open", "aria-expanded": "false", "aria-controls": `${prefix}-task-${task.i}`,
        click: (event) => toggle(task, event.currentTarget),
      }, h("span", { class: "twist", "aria-hidden": "true" }), h("bdi", { dir: "auto", title: task.id }, shortened(task.id, 120)));
      return [listRow(task, found, several, shows, button)];
    },
  });
  list.table.classList.add("task-list");
  const inLevel = (value, level) => value !== null && value >= level.low && value <= level.high;
  const isWanted = (task) => {
    const { kind, text, transition, slice } = wanted;
    const isOfKind = !kind || (kind === "messages" ? task.notes.length > 0 : task.kind === kind);
    const matches = !text || task.id.toLowerCase().includes(text)
      || task.notes.some((note) => note.reason.toLowerCase().includes(text));
    const moved = !transition || (inLevel(task.was, transition.before) && inLevel(task.now, transition.now));
    const isInSlice = !slice || found.slices[slice.field].places[task.i] === slice.value;
    return isOfKind && matches && moved && isInSlice;
  };
  const update = (asked) => {
    const shown = items.filter(isWanted);
    list.update(shown);
    if (asked) {
      say(plural(shown.length, "task"));
    }
  };
  const rescore = () => {
    items = taskItems(found, about, wanted.score, flips);
  };
  rescore();

  const matrixPlace = h("div", { class: "matrix" });
  const drawMatrix = () => {
    const isCut = found.of > found.ids.length;
    let pairs = about.compared.pairs;
    if (wanted.slice || !isCut) {
      const inSlice = taskItems(found, about, about.reward, flips)
        .filter((task) => task.change !== null)
        .filter((task) => !wanted.slice || found.slices[wanted.slice.field].places[task.i] === wanted.slice.value);
      pairs = inSlice.map((task) => [task.was, task.now, 1]);
    }
    if (!pairs.length) {
      matrixPlace.replaceChildren();
      return;
    }
    const before = attemptsOfEach(found.rewards_was);
    const now = attemptsOfEach(found.rewards_now);
    const names = [(level) => levelName(level, before), (level) => levelName(level, now)];
    const choose = (transition) => {
      wanted.transition = transition;
      update(true);
    };
    matrixPlace.replaceChildren(transitionTable(pairs, names, less, choose));
  };
  if (several && about.compared.pairs.length) {
    drawMatrix();
  }

  const search = h("input", {
    type: "search", class: "find-task",
    input: (event) => {
      wanted.text = event.target.value.trim().toLowerCase();
      update(true);
    },
  });
  const before = openTask;
  openTask = (agent, id, sample) => {
    if (agent !== prefix) {
      before(agent, id, sample);
      return;
    }
    const item = items.find((task) => task.id === id);
    if (item) {
      openNamed(item, sample);
    }
  };
  const openNamed = (item, sample) => {
    search.value = item.id;
    wanted.text = item.id.toLowerCase();
    list.update([item]);
    const button = list.table.querySelector(".open");
    button.click();
    const rows = [...list.table.querySelectorAll(".opened tbody tr")];
    const row = rows.find((tr) => tr.cells[0].textContent === sample);
    if (row) {
      row.classList.add("named");
    }
    button.scrollIntoView({ block: "center" });
    button.focus({ preventScroll: true });
  };
  const option = (value, text) => h("option", { value }, text);
  const there = new Set(items.map((task) => task.kind));
  const tools = [labelled("Search tasks", search)];
  if (there.size > 1 || shows.noted) {
    const kinds = Object.keys(KINDS).filter((kind) => there.has(kind));
    tools.push(labelled("Show", h("select", {
      class: "kind",
      change: (event) => {
        wanted.kind = event.target.value;
        update(true);
      },
    }, option("", "all"), kinds.map((kind) => option(kind, KINDS[kind])),
    shows.noted ? option("messages", "with messages") : null)));
  }
  (found.slices || []).forEach((sliced, field) => {
    tools.push(labelled(sliced.field, h("select", {
      class: "slice",
      change: (event) => {
        const { value } = event.target;
        wanted.slice = value === "" ? null : { field, value: Number(value) };
        wanted.transition = null;
        if (several) {
          drawMatrix();
        }
        update(true);
      },
    }, option("", "all"), sliced.values.map((value, place) => option(place, value)))));
  });
  if (found.scores.length > 1) {
    tools.push(labelled("Score", h("select", {
      class: "score",
      change: (event) => {
        wanted.score = event.target.value;
        rescore();
        update(true);
      },
    }, found.scores.map((name) => option(name, name)))));
  }
  update(false);
  list.table.addEventListener("keydown", listKeys(list.table));
  const cut = found.of > found.ids.length
    ? h("p", { class: "note" }, `${count(found.ids.length)} of ${count(found.of)} tasks are listed: the worse ones, those without a value, the better ones, then the lowest. report.json has them all.`)
    : null;
  return h("div", { class: several ? "tasks-grid" : "" },
    several ? matrixPlace : null,
    h("div", { class: "tasks-list" },
      h("div", { class: "tools" }, tools, h("p", { class: "muted keys" }, KEYS)),
      cut,
      list.element));
}
