/* One card for each column: found by name, sorted, and pinned. */

const ORDERS = [["declared", "as declared"], ["name", "by name"], ["relation", "strongest relation first"], ["noise", "least noise first"]];
const columnsView = { search: "", order: "declared", pinned: new Set(), cards: new Map() };

function columnsPanel() {
  const measured = DATA.marginals.length > 0, redo = (change) => (value) => { change(value); showColumns(); };
  return [
    el("h2", {}, "Columns"),
    el("p", { class: "lead" }, measured ? "How often each value occurs: estimated from the noisy counts, and in the synthetic rows."
      : "This table was measured as a whole, not column by column. Only the synthetic rows show its columns."),
    key(),
    el("div", { class: "controls" },
      searchField("Search", (text) => redo((value) => { columnsView.search = value; })(text)),
      choice("Sort", measured ? ORDERS : ORDERS.slice(0, 2), redo((value) => { columnsView.order = value; }), columnsView.order).field,
      el("p", { id: "column-count", class: "hint", role: "status" })),
    el("div", { class: "cards", id: "column-cards" }),
  ];
}

function searchField(label, onsearch) {
  const control = el("input", { type: "search", spellcheck: "false", autocomplete: "off", oninput: () => onsearch(control.value) });
  return labelled(label, control);
}

/** The strength of each column's strongest relation. */
function strongest() {
  const best = new Array(DATA.columns.length).fill(-1);
  for (const { columns, association } of DATA.pairs) for (const column of columns) if (association?.seen) best[column] = Math.max(best[column], association.value);
  return best;
}

/** The cards that are asked for, pinned ones first; each is drawn when it comes near the window. */
function showColumns() {
  const { search, order, pinned, cards } = columnsView, best = strongest(), name = (place) => DATA.columns[place].name;
  const keys = { declared: (one, other) => one - other, name: (one, other) => name(one).localeCompare(name(other)), relation: (one, other) => best[other] - best[one] || one - other,
    noise: (one, other) => (DATA.columns[one].noise ?? Infinity) - (DATA.columns[other].noise ?? Infinity) || one - other };
  const wanted = search.trim().toLowerCase(), every = DATA.columns.map((_, place) => place);
  const found = every.filter((place) => pinned.has(place) || name(place).toLowerCase().includes(wanted)).sort(keys[order]).sort((one, other) => pinned.has(other) - pinned.has(one));
  for (const place of found) if (!cards.has(place)) cards.set(place, columnCard(DATA.columns[place], place));
  document.getElementById("column-cards").replaceChildren(...found.map((place) => cards.get(place)));
  document.getElementById("column-count").textContent = found.length === every.length ? `${every.length} columns` : `${found.length} of ${every.length} columns`;
  laidOut(found.map((place) => cards.get(place)));
  found.forEach((place) => whenSeen(cards.get(place)));
}

/** Cards of several heights without gaps between them: each spans as many lines of the grid as it is high. */
const LINE = 4, GAP = 20; /* pixels, as in the style sheet */
const fitted = typeof ResizeObserver === "undefined" ? null : new ResizeObserver((changed) => {
  for (const { target } of changed) target.style.gridRowEnd = `span ${Math.ceil((target.offsetHeight + GAP) / LINE)}`;
});

function laidOut(cards) {
  if (fitted === null) return;
  fitted.disconnect();
  cards.forEach((card) => fitted.observe(card));
}

/** Draw a card once it is near the window. */
const watched = typeof IntersectionObserver === "undefined" ? null : new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    watched.unobserve(target);
    target.draw();
  }
}, { rootMargin: "600px" });

function whenSeen(card) {
  if (card.drawn) return;
  if (watched === null) card.draw();
  else watched.observe(card);
}

function columnCard(column, place) {
  const figure = el("div", { class: "figure" }), more = el("div", {}), facts = el("div", {});
  const pin = el("button", { type: "button", class: "pin", "aria-pressed": "false", "aria-label": `Pin ${short(column.name)}`, title: "Pin: keep this column at the top", onclick: () => {
    const now = !columnsView.pinned.delete(place);
    if (now) columnsView.pinned.add(place);
    pin.setAttribute("aria-pressed", String(now));
    showColumns();
    pin.focus();
  } }, "Pin");
  const card = el("article", { class: "card", id: `column-${place}` },
    el("div", { class: "spread" }, el("h3", {}, named(column.name), el("small", {}, ` ${column.type}`)), pin), figure, more, facts);
  let all = false;
  card.draw = () => {
    card.drawn = true;
    card.classList.add("drawn");
    const trim = all ? null : trimOf(column), entries = entriesOf(place, barsOf(column, all, trim)), rest = leftOut(column, entries);
    figure.replaceChildren(distribution(column, entries, roomIn(figure), all ? { most: Infinity } : { trim }), ...(trim === null ? [] : [el("p", { class: "hint" }, trimText(column, trim))]));
    const many = isCelled(column) ? barsOf(column, true).length !== barsOf(column, false, trim).length : rest > 0;
    if (many && more.childElementCount === 0) {
      const toggle = el("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => {
        all = !all;
        toggle.setAttribute("aria-pressed", String(all));
        card.draw();
      } }, isCelled(column) ? `all ${column.size} cells` : `${rest} rarer values`);
      more.append(toggle);
    }
    if (facts.childElementCount === 0) facts.append(columnFacts(column, place));
  };
  return card;
}

/** What the bars at the ends of a trimmed picture hold. */
function trimText(column, [first, last]) {
  const ends = [first > 0 ? `below ${edgeText(column, [first])}` : null, last < column.low.length - 1 ? `from ${edgeText(column, [last + 1])} on` : null].filter(Boolean);
  return `A bar at the end holds all values ${ends.join(", or ")}.`;
}

function columnFacts(column, place) {
  return factsOf([
    column.mean && ["mean", figureOf(column.mean).text],
    ...(column.quantiles ?? []).map(([share, figure]) => [share === 0.5 ? "median" : `${100 * share} % are below`, figureOf(figure).text]),
    column.nullable && column.noise !== undefined && ["NULL", shareText(answered(() => barShare(place, [column.size - 1])))],
    column.noise !== undefined && ["noise of a count", column.noise === null ? "not measured" : `± ${brief(1.96 * column.noise, 3)} rows`],
    column.smallest !== undefined && ["smallest group that can be seen", column.smallest === null ? "none" : `${whole(column.smallest)} rows`],
  ]);
}
