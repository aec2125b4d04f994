/* Choose rows by one column, and see every other: shares with intervals, from pairs that were measured together. */

const filter = { column: 0, chosen: new Set(), cells: [], charts: [] };

/** The finest cells of a column that every pair with it can tell: atoms that some pair puts together stay together. */
function commonCells(place) {
  const parent = DATA.columns[place].labels.map((_, atom) => atom);
  const root = (atom) => (parent[atom] === atom ? atom : (parent[atom] = root(parent[atom])));
  for (const record of DATA.marginals) {
    if (record.columns.length !== 2 || !record.columns.includes(place)) continue;
    if ((MARGINALS.get(record.columns.join(","))?.[0].groups ?? record.groups) !== record.groups) continue; /* first round only */
    for (const atoms of membersOf(record.groups[record.columns.indexOf(place)])) {
      for (const atom of atoms) parent[root(atom)] = root(atoms[0]);
    }
  }
  return membersOf(parent.map((_, atom) => root(atom)));
}

/** Atoms as a function of a marginal's cells along one axis: 1, 0; null where a cell is cut. */
function alongAxis(groups, size, atoms) {
  const result = new Float64Array(size).fill(-1);
  for (let atom = 0; atom < groups.length; atom++) {
    const value = atoms.has(atom) ? 1 : 0, cell = groups[atom];
    if (result[cell] >= 0 && result[cell] !== value) return null;
    result[cell] = value;
  }
  return result;
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
  const columns = place < other ? [place, other] : [other, place], ours = place < other ? 0 : 1;
  const rounds = marginalsOf(columns).map((marginal) => ({ marginal, where: alongAxis(marginal.groups[ours], marginal.sizes[ours], chosen) }))
    .filter((one) => one.where !== null)
    .map(({ marginal, where }) => ({ marginal, where, below: marginal.linear(outer(marginal, ours, where, null)) }));
  return bars.map((atoms) => {
    const found = [];
    for (const { marginal, where, below } of rounds) {
      const event = alongAxis(marginal.groups[1 - ours], marginal.sizes[1 - ours], atoms);
      if (event === null) continue;
      found.push({ marginal, above: marginal.linear(outer(marginal, ours, where, event)), below });
    }
    if (found.length === 0) return null;
    const { marginal, above, below } = sharpest(found);
    const possible = possibleOf(above.h, below.h);
    return possible === null ? null : ratio(marginal, above, below, possible);
  });
}

function showFilter() {
  const place = document.getElementById("filter");
  if (place === null || DATA.marginals.length === 0) return;
  const names = DATA.columns.map((column, index) => [index, short(column.name)]);
  const pick = choice("Filter by", names, (value) => startFilter(Number(value)), filter.column);
  place.replaceChildren(el("div", { class: "controls" }, pick.field, el("div", { id: "filter-range", class: "controls" })),
    el("div", { class: "card wide" }, el("div", { class: "figure", id: "filter-chart" })), el("p", { id: "filter-words", class: "lead", "aria-live": "polite" }),
    el("div", { class: "cards small", id: "filter-cards" }));
  startFilter(filter.column);
}

function startFilter(column) {
  filter.column = column;
  filter.cells = commonCells(column);
  const atoms = filter.cells, middle = Math.floor(atoms.length / 2);
  const ordered = DATA.columns[column].ordered;
  filter.chosen = new Set(ordered ? atoms.keys() : [0]);
  if (ordered) for (let cell = 0; cell < middle; cell++) filter.chosen.delete(cell);
  drawChooser();
  drawOthers();
  refilter();
}

/** The column itself, with its chosen cells; a brush for ordered ones, buttons for the others.

    A bar is as wide as its cell has values, and its area is the share: merged cells keep the shape of the column. */
function drawChooser() {
  const { column, cells } = filter, about = DATA.columns[column];
  const figure = document.getElementById("filter-chart"), range = document.getElementById("filter-range");
  const entries = entriesOf(column, cells), width = roomIn(figure, 900), height = 150, bottom = 26;
  const starts = [0, ...d3.cumsum(cells, (atoms) => (about.ordered ? atoms.length : 1))];
  const x = d3.scaleLinear([0, starts[cells.length]], [4, width - 4]), size = (place) => starts[place + 1] - starts[place];
  const y = d3.scaleLinear([0, d3.max(entries, (entry, place) => (entry.high || 0) / size(place)) || 1], [height - bottom, 8]);
  const middle = (place) => x((starts[place] + starts[place + 1]) / 2), level = (share, place) => y((share || 0) / size(place));
  const svg = d3.create("svg").attr("viewBox", [0, 0, width, height]).attr("class", "plain").attr("role", "img").attr("aria-label", `${short(about.name)}: drag over the bars to choose rows`);
  filter.bars = svg.append("g").selectAll("rect").data(entries).join("rect").attr("class", "bar").attr("x", (_, place) => x(starts[place]) + 0.75)
    .attr("width", (_, place) => Math.max(1, x(starts[place + 1]) - x(starts[place]) - 1.5)).attr("y", (entry, place) => level(entry.value, place))
    .attr("height", (entry, place) => y(0) - level(entry.value, place));
  svg.append("g").selectAll("line").data(entries).join("line").attr("class", "whisker").attr("x1", (_, place) => middle(place)).attr("x2", (_, place) => middle(place))
    .attr("y1", (entry, place) => level(entry.low, place)).attr("y2", (entry, place) => level(entry.high, place));
  const roomy = d3.range(cells.length).reduce((kept, place) => (kept.length === 0 || middle(place) - middle(kept[kept.length - 1]) > 62 ? [...kept, place] : kept), []);
  svg.append("g").attr("class", "axis").attr("text-anchor", "middle").selectAll("text").data(roomy).join("text").attr("x", middle).attr("y", height - 9).text((place) => startOf(entries[place].label));
  if (about.ordered) brushOn(svg, starts.map(x), [[4, 8], [width - 4, height - bottom]]);
  else svg.selectAll("rect.bar").style("cursor", "pointer").on("click", (_, entry) => toggle(entries.indexOf(entry)));
  figure.replaceChildren(svg.node());
  range.replaceChildren(...(about.ordered ? rangeFields(entries) : [toggles(entries)]));
}

/** A brush whose ends snap to the edges of cells. */
function brushOn(svg, edges, extent) {
  const nearest = (place) => d3.minIndex(edges, (edge) => Math.abs(edge - place));
  const brush = d3.brushX().extent(extent).on("brush end", ({ selection, sourceEvent }) => {
    if (!sourceEvent || selection === null) return;
    const from = Math.min(nearest(selection[0]), edges.length - 2);
    choose(from, Math.max(from + 1, nearest(selection[1])) - 1);
  });
  svg.append("g").attr("class", "brush").call(brush);
}

function rangeFields(entries) {
  const options = entries.map((entry, place) => [place, short(entry.label, 20)]);
  const ends = [...filter.chosen].sort((one, other) => one - other);
  const from = choice("from", options, () => choose(Number(from.control.value), Number(to.control.value)), ends[0]);
  const to = choice("to", options, () => choose(Number(from.control.value), Number(to.control.value)), ends[ends.length - 1]);
  filter.fields = [from.control, to.control];
  return [from.field, to.field];
}

function toggles(entries) {
  return el("div", { class: "chips", role: "group", "aria-label": "Values" }, entries.map((entry, place) =>
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
  if (filter.chosen.size === high - low + 1 && filter.chosen.has(low) && filter.chosen.has(high)) return;
  filter.chosen = new Set(d3.range(low, high + 1));
  filter.fields[0].value = String(low);
  filter.fields[1].value = String(high);
  refilter();
}

/** An empty picture for each other column; bars move in it. */
function drawOthers() {
  const place = document.getElementById("filter-cards");
  filter.charts = DATA.columns.map((column, other) => ({ column, other })).filter(({ other }) => other !== filter.column).map(({ column, other }) => {
    const pair = marginalsOf(filter.column < other ? [filter.column, other] : [other, filter.column])[0];
    if (pair === undefined) return { card: el("article", { class: "card" }, el("h4", {}, named(column.name)), el("p", {}, "Not measured together with it.")) };
    const bars = membersOf(pair.groups[pair.columns.indexOf(other)]);
    return smallChart(column, other, bars);
  });
  place.replaceChildren(...filter.charts.map(({ card }) => card));
}

const SMALL = { width: 260, height: 132, left: 34, right: 4, top: 6, bottom: 20 };

function smallChart(column, other, bars) {
  const { width, height, left, right, top, bottom } = SMALL;
  const all = entriesOf(other, bars), x = d3.scaleBand(d3.range(bars.length), [left, width - right]).padding(0.15);
  const svg = d3.create("svg").attr("viewBox", [0, 0, width, height]).attr("class", "plain").attr("role", "img");
  const groups = ["bar", "before", "whisker"].map((name) => svg.append("g").selectAll(name === "bar" ? "rect" : "line").data(all).join(name === "bar" ? "rect" : "line").attr("class", name));
  groups[0].attr("x", (_, place) => x(place)).attr("width", x.bandwidth()).append("title");
  groups[1].attr("x1", (_, place) => x(place)).attr("x2", (_, place) => x(place) + x.bandwidth());
  groups[2].attr("x1", (_, place) => x(place) + x.bandwidth() / 2).attr("x2", (_, place) => x(place) + x.bandwidth() / 2);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
    .call(d3.axisBottom(x).tickValues(sparse(d3.range(bars.length), 3)).tickSizeOuter(0).tickFormat((place) => startOf(all[place].label)));
  const axis = svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`), words = el("p", { class: "said" });
  const sets = bars.map((atoms) => new Set(atoms));
  return { card: el("article", { class: "card" }, el("h4", {}, named(column.name)), svg.node(), words), svg, column, other, sets, all, groups, axis, words };
}

/** Answer for all columns at once; how long that took is kept for whoever wants to know. */
function refilter() {
  const start = performance.now(), { column, cells, chosen } = filter, about = DATA.columns[column];
  const atoms = new Set([...chosen].flatMap((cell) => cells[cell]));
  const rows = answered(() => shareOf(among(column, [...atoms]), null, true));
  filter.bars.classed("off", (_, place) => !chosen.has(place));
  const label = [...chosen].length === cells.length ? "all rows" : short(labelOf(about, [...atoms].sort((one, other) => one - other)), 60);
  document.getElementById("filter-words").replaceChildren("Rows with ", named(about.name), ` ${about.ordered ? "in" : "="} ${label}: `,
    el("strong", {}, rows.little ? "too few to tell" : rows.text), ". Ticks: all rows.");
  for (const picture of filter.charts) if (picture.svg !== undefined) redraw(picture, conditional(column, atoms, picture.other, picture.sets));
  filter.milliseconds = performance.now() - start;
  document.getElementById("filter").dataset.milliseconds = filter.milliseconds.toFixed(1);
}

function redraw({ svg, column, all, groups, axis, words }, estimates) {
  const { height, top, bottom } = SMALL, told = estimates.map((estimate) => (estimate === null || estimate.little ? null : estimate));
  const most = Math.max(...told.map((estimate) => estimate?.high ?? 0), ...all.map((entry) => entry.value || 0));
  const y = d3.scaleLinear([0, most || 1], [height - bottom, top]).nice(3), unknown = told.filter((estimate) => estimate === null).length;
  groups[0].attr("y", (_, place) => y(told[place]?.value ?? 0)).attr("height", (_, place) => y(0) - y(told[place]?.value ?? 0));
  groups[0].select("title").text((entry, place) => `${short(entry.label)}: ${told[place]?.text ?? "too small to tell"}`);
  groups[1].attr("y1", (entry) => y(entry.value || 0)).attr("y2", (entry) => y(entry.value || 0));
  groups[2].attr("y1", (_, place) => y(told[place]?.low ?? 0)).attr("y2", (_, place) => y(told[place]?.high ?? 0));
  axis.call(d3.axisLeft(y).ticks(3).tickFormat((share) => `${+(100 * share).toFixed(1)}%`));
  const first = told.reduce((best, estimate, place) => (estimate !== null && (best < 0 || estimate.value > told[best].value) ? place : best), -1);
  words.textContent = first < 0 ? "too small to tell" : `${short(all[first].label, 18)}: ${told[first].text}${unknown === 0 ? "" : `; ${unknown} too small to tell`}`;
  svg.attr("aria-label", `${short(column.name)} among the chosen rows: ${words.textContent}`);
}
