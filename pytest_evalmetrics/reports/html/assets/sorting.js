// Tables that are sorted by their headers and grow by pages.

const FURTHER_ROWS = 100; // that a reader gets who asks for more

const collator = new Intl.Collator("en", { numeric: true });

// What has no value comes last, whichever way.
function compare(a, b, way) {
  if (isNone(a) || isNone(b)) {
    return Number(isNone(a)) - Number(isNone(b));
  }
  const order = typeof a === "string" ? collator.compare(a, b) : a - b;
  return way * order;
}

// Items by a column's values; those with the same value keep their turn.
function inOrder(items, by, way) {
  const entries = items.map((item, turn) => ({ value: by(item), turn, item }));
  entries.sort((a, b) => compare(a.value, b.value, way) || a.turn - b.turn);
  return entries.map((entry) => entry.item);
}

function headerCell(column, sortBy) {
  const cell = h("th", { scope: "col", class: column.class });
  if (!column.by) {
    cell.append(h("span", { class: column.quiet ? "hidden-text" : "" }, column.label));
    return cell;
  }
  const arrow = h("span", { class: "arrow", "aria-hidden": "true" });
  const click = () => sortBy(column);
  cell.append(h("button", { type: "button", class: "sort", click }, column.label, arrow));
  return cell;
}

// columns: {key, label, class, by: item -> value, first: 1 | -1}; row: item -> its rows
function sortedTable({ caption, columns, sort, row, empty, page = 100 }) {
  const body = h("tbody");
  const more = h("button", { type: "button", click: () => showMore() });
  const head = h("tr");
  const table = h("table", {},
    h("caption", { class: "hidden-text" }, caption),
    h("thead", {}, head),
    body);
  const state = { key: "", way: 1, ...sort };
  let items = [];
  let shown = 0;

  function append(most) {
    const next = items.slice(shown, shown + most);
    body.append(...next.flatMap((item) => row(item)));
    shown += next.length;
    more.hidden = shown >= items.length;
    more.textContent = `Show more (${count(items.length - shown)} left)`;
  }

  function showMore() {
    const first = body.children.length;
    append(FURTHER_ROWS);
    body.children[first]?.querySelector("a, button")?.focus();
  }

  function markHeaders() {
    columns.forEach((column, at) => {
      if (!column.by) {
        return;
      }
      const way = state.way > 0 ? "ascending" : "descending";
      head.children[at].setAttribute("aria-sort", column.key === state.key ? way : "none");
    });
  }

  function update(found) {
    const column = columns.find((one) => one.key === state.key);
    const by = column && column.by ? column.by : () => 0;
    items = inOrder(found, by, state.way);
    markHeaders();
    body.replaceChildren();
    shown = 0;
    append(page);
    if (!items.length) {
      const text = empty || "Nothing matches.";
      body.append(h("tr", {}, h("td", { colspan: columns.length, class: "empty" }, text)));
    }
  }

  function sortBy(column) {
    state.way = state.key === column.key ? -state.way : column.first || 1;
    state.key = column.key;
    update(items);
    say(`Sorted by ${column.label}, ${state.way > 0 ? "ascending" : "descending"}`);
  }

  head.append(...columns.map((column) => headerCell(column, sortBy)));
  const element = h("div", {}, scrolling(caption, table), h("p", { class: "more" }, more));
  return { element, update, table };
}
