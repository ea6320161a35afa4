// Tables that are sorted by their headers and grow by pages.

const expanders = new Set(); // show all rows of a table, for paper

const collator = new Intl.Collator("en", { numeric: true });

// What has no value comes last, whichever way.
function compare(a, b, way) {
  const none = (x) => x === null || x === undefined;
  if (none(a) || none(b)) return none(a) - none(b);
  return way * (typeof a === "string" ? collator.compare(a, b) : a - b);
}

// columns: {key, label, class, by: item -> value, first: 1 | -1, cell: item -> node}
function sortedTable({ caption, columns, sort, row, empty, page = 100 }) {
  const body = h("tbody");
  const more = h("button", { type: "button", click: () => show(true) });
  const table = h("table", {}, h("caption", { class: "hidden-text" }, caption));
  const head = h("tr");
  let items = [];
  let shown = 0;
  const state = { ...sort };

  for (const column of columns) {
    const cell = h("th", { scope: "col", class: column.class });
    if (column.by) {
      cell.append(h("button", {
        type: "button", class: "sort",
        click: () => {
          state.way = state.key === column.key ? -state.way : column.first || 1;
          state.key = column.key;
          update(items);
          say(`Sorted by ${column.label}, ${state.way > 0 ? "ascending" : "descending"}`);
        },
      }, column.label, h("span", { class: "arrow", "aria-hidden": "true" })));
    } else {
      cell.append(h("span", { class: column.quiet ? "hidden-text" : "" }, column.label));
    }
    head.append(cell);
  }
  table.append(h("thead", {}, head), body);

  function update(found) {
    const { by } = columns.find((c) => c.key === state.key) || { by: () => 0 };
    items = found.map((item, i) => [by(item), i, item]);
    items.sort((a, b) => compare(a[0], b[0], state.way) || a[1] - b[1]);
    items = items.map((entry) => entry[2]);
    columns.forEach((column, i) => {
      if (!column.by) return;
      const on = column.key === state.key;
      head.children[i].setAttribute("aria-sort", on ? (state.way > 0 ? "ascending" : "descending") : "none");
    });
    body.replaceChildren();
    shown = 0;
    show(false);
  }

  function show(asked, most = asked ? 100 : page) {
    const next = items.slice(shown, shown + most);
    const first = body.children.length;
    body.append(...next.flatMap((item) => row(item)));
    shown += next.length;
    more.hidden = shown >= items.length;
    more.textContent = `Show more (${count(items.length - shown)} left)`;
    if (!items.length && !body.children.length) {
      body.append(h("tr", {}, h("td", { colspan: columns.length, class: "empty" }, empty || "Nothing matches.")));
    }
    if (asked) body.children[first]?.querySelector("a, button")?.focus();
  }

  expanders.add(() => show(false, items.length));
  return { element: h("div", {}, scrolling(caption, table), h("p", { class: "more" }, more)), update, table };
}
