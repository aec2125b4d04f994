/* Choose rows by one column, and see every other: shares with intervals, from pairs that were measured together. */

const NEAR = 18; /* columns that are shown at first: those that go most with the chosen one */
const filter = { column: 0, chosen: new Set(), cells: [], others: [], all: false };

function pairKey(one, other) {
  return one < other ? [one, other] : [other, one];
}

/** The columns whose table with this one the page has, the strongest relation first. */
function columnsBeside(place) {
  return sortedPairs().filter(({ columns }) => columns.includes(place) && MARGINALS.has(columns.join(","))).map(({ columns }) => columns.find((column) => column !== place));
}

/** The finest cells of a column that every pair with it can tell: atoms that some pair puts together stay together. */
function commonCells(place) {
  const parent = Array.from({ length: DATA.columns[place].size }, (_, atom) => atom);
  const root = (atom) => (parent[atom] === atom ? atom : (parent[atom] = root(parent[atom])));
  for (const other of columnsBeside(place)) {
    const marginal = marginalsOf(pairKey(place, other))[0];
    for (const atoms of membersOf(marginal.groups[marginal.columns.indexOf(place)])) for (const atom of atoms) parent[root(atom)] = root(atoms[0]);
  }
  return membersOf(parent.map((_, atom) => root(atom)));
}

/** A function of both axes as one of cells: the product of one along our axis and one along the other (null: 1). */
function outer(marginal, ours, along, other) {
  const cells = new Float64Array(marginal.size), width = marginal.sizes[1];
  for (let cell = 0; cell < marginal.size; cell++) {
    const down = Math.floor(cell / width), places = [down, cell - down * width];
    cells[cell] = along[places[ours]] * (other === null ? 1 : other[places[1 - ours]]);
  }
  return cells;
}

/** The share of each bar of another column among the chosen rows. */
function conditional(place, chosen, other, bars) {
  const columns = pairKey(place, other), ours = columns.indexOf(place);
  const rounds = marginalsOf(columns).map((marginal) => ({ marginal, where: alongAxis(marginal.groups[ours], marginal.sizes[ours], chosen) })).filter((one) => one.where !== null);
  return bars.map((atoms) => {
    const found = rounds.map(({ marginal, where }) => ({ marginal, where, event: alongAxis(marginal.groups[1 - ours], marginal.sizes[1 - ours], new Set(atoms)) })).filter((one) => one.event !== null)
      .map(({ marginal, where, event }) => {
        const pair = [outer(marginal, ours, where, event), outer(marginal, ours, where, null)], inside = pair[0].filter((_, cell) => pair[1][cell] > 0);
        return { marginal, functions: { exact: true, middle: pair, possible: inside.length === 0 ? null : [Math.min(...inside), Math.max(...inside)], least: () => pair, greatest: () => pair } };
      }).filter(({ functions }) => functions.possible !== null);
    if (found.length === 0) return null;
    const { marginal, functions } = bestOf(found, null);
    return ratioEstimate(marginal, functions, null, 1);
  });
}

function showFilter() {
  const place = document.getElementById("filter");
  const usable = DATA.columns.map((_, column) => column).filter((column) => columnsBeside(column).length > 0);
  if (place === null) return;
  if (usable.length === 0) return place.replaceChildren(el("p", {}, "No table of two columns is in this page."));
  const start = pairsView.chosen.columns.find((column) => usable.includes(column)) ?? usable[0];
  const pick = choice("Choose rows by", usable.map((column) => [column, short(DATA.columns[column].name)]), (value) => startFilter(Number(value)), start);
  place.replaceChildren(el("div", { class: "controls" }, pick.field, el("div", { id: "filter-range", class: "controls" })),
    el("div", { class: "card wide" }, el("div", { class: "figure", id: "filter-chart" })), el("p", { id: "filter-words", class: "lead", "aria-live": "polite" }),
    el("p", { class: "key" }, sign("estimate", "among the chosen rows, with its 95 % interval"), sign("rows", "among all rows")),
    el("div", { class: "cards small", id: "filter-cards" }), el("p", { id: "filter-more" }));
  startFilter(start);
}

function startFilter(column) {
  Object.assign(filter, { column, cells: commonCells(column), all: false });
  filter.others = columnsBeside(column).map((other) => {
    const pair = marginalsOf(pairKey(column, other))[0], bars = membersOf(pair.groups[pair.columns.indexOf(other)]);
    return { other, bars, all: null, figure: el("div", { class: "figure" }), words: el("p", { class: "said" }) };
  });
  filter.others.forEach((one) => { one.card = el("article", { class: "card" }, el("h4", {}, named(DATA.columns[one.other].name)), one.figure, one.words); });
  const half = Math.floor(filter.cells.length / 2), ordered = isCelled(DATA.columns[column]);
  filter.chosen = new Set(ordered ? filter.cells.map((_, cell) => cell).filter((cell) => cell >= half && !isNull(DATA.columns[column], filter.cells[cell][0])) : [0]);
  filter.entries = entriesOf(column, filter.cells).map((entry) => ({ ...entry, mark: NaN }));
  document.getElementById("filter-range").replaceChildren(...(ordered ? rangeFields() : [toggles()]));
  arrangeOthers();
  refilter();
}

function arrangeOthers() {
  const shown = filter.all ? filter.others : filter.others.slice(0, NEAR), rest = filter.others.length - shown.length, missing = DATA.columns.length - 1 - filter.others.length;
  filter.shown = shown;
  document.getElementById("filter-cards").replaceChildren(...shown.map(({ card }) => card));
  const more = el("button", { type: "button", class: "quiet", onclick: () => { filter.all = true; arrangeOthers(); refilter(); } }, `${rest} more columns`);
  document.getElementById("filter-more").replaceChildren(...(rest > 0 ? [more] : []),
    el("span", { class: "hint" }, missing === 0 ? "" : `${missing} ${missing === 1 ? "column was" : "columns were"} not measured together with it, or did not fit into this page.`));
}

/** Ends of a range, among the cells but NULL. */
function rangeFields() {
  const column = DATA.columns[filter.column], options = filter.entries.map((entry, place) => [place, short(entry.label, 26)]).filter(([place]) => !isNull(column, filter.cells[place][0]));
  const ends = [...filter.chosen].sort((one, other) => one - other), redo = () => choose(Number(from.control.value), Number(to.control.value));
  const from = choice("from", options, redo, ends[0]), to = choice("to", options, redo, ends.at(-1));
  filter.fields = [from.control, to.control];
  return [from.field, to.field];
}

function toggles() {
  return el("div", { class: "chips", role: "group", "aria-label": "Values" }, filter.entries.map((entry, place) =>
    el("button", { type: "button", class: "chip", "aria-pressed": String(filter.chosen.has(place)), onclick: () => toggle(place) }, short(entry.label, 24))));
}

function toggle(place) {
  if (!filter.chosen.delete(place)) filter.chosen.add(place);
  if (filter.chosen.size === 0) filter.chosen.add(place);
  document.querySelectorAll("#filter-range .chip").forEach((chip, cell) => chip.setAttribute("aria-pressed", String(filter.chosen.has(cell))));
  refilter();
}

function choose(from, to) {
  const [low, high] = from <= to ? [from, to] : [to, from];
  filter.chosen = new Set(Array.from({ length: high - low + 1 }, (_, place) => low + place));
  filter.fields[0].value = String(low);
  filter.fields[1].value = String(high);
  refilter();
}

/** The column itself: pressing and dragging over its cells chooses them. */
function drawChooser() {
  const { column, entries, chosen } = filter, about = DATA.columns[column], figure = document.getElementById("filter-chart");
  const made = distribution(about, entries, roomIn(figure, 900), { height: 160, marked: null, chosen, most: 30, words: "the chosen cells are dark" });
  const bars = [...made.querySelectorAll("g > rect.bar")];
  if (isCelled(about)) dragOver(made, bars);
  figure.replaceChildren(made);
}

let dragging = null; /* the cell where it began */

function dragOver(made, bars) {
  const at = (event) => {
    const x = event.clientX, places = bars.map((bar) => bar.getBoundingClientRect()).map(({ left, right }, place) => ({ place, far: Math.max(left - x, x - right, 0) }));
    return places.filter(({ place }) => !isNull(DATA.columns[filter.column], filter.cells[place][0])).reduce((best, one) => (one.far < best.far ? one : best)).place;
  };
  made.classList.add("chooser");
  made.addEventListener("pointerdown", (event) => { dragging = at(event); choose(dragging, dragging); event.preventDefault(); });
  made.addEventListener("pointermove", (event) => { if (dragging !== null) choose(dragging, at(event)); });
}
addEventListener("pointerup", () => { dragging = null; });

/** Answer for all columns at once; how long that took is kept for whoever wants to know. */
function refilter() {
  const start = performance.now(), { column, cells, chosen } = filter, about = DATA.columns[column];
  const atoms = [...chosen].flatMap((cell) => cells[cell]).sort((one, other) => one - other);
  const rows = answered(() => shareOf(among(column, atoms), null, true));
  drawChooser();
  const label = chosen.size === cells.length ? "any value" : short(labelOf(about, atoms), 60);
  document.getElementById("filter-words").replaceChildren("Rows with ", named(about.name), ` ${isCelled(about) ? "from" : "="} ${label}: `,
    el("strong", {}, rows.little ? "too few to tell" : rows.text), ".");
  for (const one of filter.shown) redraw(one, conditional(column, new Set(atoms), one.other, one.bars));
  document.getElementById("filter").dataset.milliseconds = (performance.now() - start).toFixed(1);
}

function redraw(one, estimates) {
  const column = DATA.columns[one.other], told = estimates.map((estimate) => (estimate === null || estimate.little ? null : estimate));
  one.all ??= entriesOf(one.other, one.bars);
  const entries = one.all.map((entry, place) => ({ ...entry, mark: entry.value, ...(told[place] ?? { value: NaN, low: NaN, high: NaN, text: "too small to tell" }) }));
  const first = told.reduce((best, estimate, place) => (estimate !== null && (best < 0 || estimate.value > told[best].value) ? place : best), -1), unknown = told.filter((estimate) => estimate === null).length;
  one.words.textContent = unbroken(first < 0 ? "too small to tell" : `${short(entries[first].label, 24)}: ${shareText(told[first])}${unknown === 0 ? "" : `; ${unknown} too small to tell`}`);
  one.figure.replaceChildren(distribution(column, entries, roomIn(one.figure, 240), { height: 130, marked: "all rows", most: 6, words: `among the chosen rows: ${one.words.textContent}` }));
}
