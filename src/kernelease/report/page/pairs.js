/* The matrix of all pairs, and the heat map of one. */

function pairsPanel() {
  if (DATA.pairs.length === 0) return [el("h2", {}, "Pairs"), el("p", {}, "No pairs of columns were counted in this release.")];
  const matrix = el("div", { class: "figure matrix" }), detail = el("div", { id: "pair" });
  const panel = [
    el("h2", {}, "Pairs"),
    el("p", { class: "lead" }, "How strongly two columns go together (Cramér's V, 0 to 1, with the noise taken out). Choose a square to look closer."),
    el("div", { class: "columns wide-left" }, el("div", {}, matrix,
      el("p", { class: "key" }, sign("estimate", "stronger is darker"), sign("hollow", "too small to tell from noise"), sign("none", "not measured together"))), detail),
    el("h3", { id: "filter-title" }, "Filter: choose some rows, see all other columns"),
    el("div", { id: "filter" }),
  ];
  const strongest = DATA.pairs.reduce((best, pair) => ((pair.association?.value ?? -1) > (best.association?.value ?? -1) ? pair : best), DATA.pairs[0]);
  matrix.append(matrixOf((pair) => showPair(detail, pair)));
  showPair(detail, strongest);
  return panel;
}

/** Every pair as a button in a grid: a table that keyboards and screen readers walk through. */
function matrixOf(choose) {
  const names = DATA.columns.map((column) => column.name);
  const found = new Map(DATA.pairs.map((pair) => [pair.columns.join(","), pair]));
  const head = el("tr", {}, el("td", {}), names.slice(0, -1).map((name) => el("th", { scope: "col" }, el("span", {}, short(name, 16)))));
  const rows = names.slice(1).map((name, down) => el("tr", {}, el("th", { scope: "row" }, short(name, 18)),
    names.slice(0, down + 1).map((other, across) => {
      const pair = found.get(`${across},${down + 1}`), words = `${short(other)} and ${short(name)}: ${associationText(pair)}`;
      const button = el("button", { type: "button", title: words, "aria-label": words, class: pairClass(pair), onclick: () => choose(pair) });
      button.style.setProperty("--strength", String(pair.association?.seen ? 0.12 + 0.88 * pair.association.value : 0));
      return el("td", {}, button);
    })));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All pairs" },
    el("table", { class: "pairs" }, el("caption", { class: "unseen" }, "Association of every pair of columns"), el("thead", {}, head), el("tbody", {}, rows)));
}

function pairClass(pair) {
  if (pair.noise === null) return "none";
  return pair.association?.seen ? "seen" : "hollow";
}

function associationText(pair) {
  if (pair.noise === null) return "not measured together";
  const found = pair.association;
  if (found === null) return "a column has one value only that can be seen";
  const text = `${found.value.toFixed(2)} (${found.low.toFixed(2)} to ${found.high.toFixed(2)})`;
  return found.seen ? text : `too small to tell, ${text}`;
}

function showPair(place, pair) {
  const [first, second] = pair.columns.map((column) => DATA.columns[column]);
  const figure = el("div", { class: "figure" });
  place.replaceChildren(
    el("h3", {}, named(first.name, 24), " × ", named(second.name, 24)),
    factsOf([
      ["association", associationText(pair)],
      ["cells", pair.cells === null ? "not measured" : whole(pair.cells)],
      pair.noise !== null && ["noise of a count", `± ${brief(1.96 * pair.noise, 3)} rows`],
      pair.noise !== null && ["smallest group that can be seen", pair.smallest === null ? "none" : `${whole(pair.smallest)} rows`],
    ]), figure);
  const [marginal] = marginalsOf(pair.columns);
  if (marginal === undefined) {
    figure.append(el("p", {}, "These columns were not measured together: only bounds from single columns are known."));
    return;
  }
  figure.append(heatMap(marginal, pair, roomIn(figure, 460)));
}

/** The estimated share of each cell: full where it stands out of the noise, hollow where it does not. */
function heatMap(marginal, pair, width) {
  const [first, second] = pair.columns.map((column) => DATA.columns[column]);
  const [down, across] = pair.columns.map((column, axis) =>
    membersOf(marginal.groups[axis]).map((atoms, place) => ({ key: String(place), cell: marginal.groups[axis][atoms[0]], label: labelOf(DATA.columns[column], atoms) })));
  const error = 1.96 * pair.noise / DATA.rows, cells = [];
  const counts = marginal.estimates();
  for (const one of down) {
    for (const other of across) {
      const share = Math.max(0, counts[one.cell * marginal.sizes[1] + other.cell] / DATA.rows);
      cells.push({ down: one.key, across: other.key, share, seen: share > error, title: `${short(one.label)}, ${short(other.label)}\n${percent(share, 2)} ± ${percent(error, 2)}` });
    }
  }
  const texts = (list) => (key) => short(list[Number(key)].label, 14), most = Math.max(...cells.map((cell) => cell.share));
  const height = Math.min(560, 90 + Math.max(12, Math.min(22, 420 / down.length)) * down.length);
  return el("div", {}, chart({
    width, height, marginLeft: 104, marginBottom: 84, marginRight: 8,
    x: { label: null, domain: across.map((one) => one.key), ticks: sparse(across.map((one) => one.key), Math.floor(width / 26)), tickFormat: texts(across), tickRotate: -45, tickSize: 0 },
    y: { label: null, domain: down.map((one) => one.key), ticks: sparse(down.map((one) => one.key), Math.floor(height / 16)), tickFormat: texts(down), tickSize: 0 },
    marks: [
      Plot.cell(cells.filter((cell) => cell.seen), { x: "across", y: "down", fill: BLUE, fillOpacity: (cell) => 0.1 + 0.9 * Math.sqrt(cell.share / most), inset: 0.5, title: "title" }),
      Plot.cell(cells.filter((cell) => !cell.seen), { x: "across", y: "down", fill: "none", stroke: SOFT, strokeOpacity: 0.35, inset: 1.5, title: "title" }),
    ],
  }, `${short(first.name)} by ${short(second.name)}: share of rows in each cell`),
  el("p", { class: "key" }, sign("estimate", `up to ${percent(most, 1)} of rows in a cell`), sign("hollow", `less than the noise of a cell, ${percent(error, 2)}`)));
}
