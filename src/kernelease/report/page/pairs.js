/* All pairs that were measured, the strongest first; the table of one; and what goes with chosen rows. */

const LISTED = 30; /* pairs that are listed at first */
const pairsView = { search: "", shown: LISTED, chosen: null };

function strengthOf(pair) {
  return pair.association === null ? -2 : pair.association.seen ? pair.association.value : pair.association.value - 1;
}

/** The pairs by strength: those that stand out of the noise first. */
function sortedPairs() {
  return [...DATA.pairs].sort((one, other) => strengthOf(other) - strengthOf(one));
}

function pairsPanel() {
  if (DATA.pairs.length === 0) return [el("h2", {}, "Pairs"), el("p", {}, "No two columns were counted together: this release says nothing about relations between them.")];
  const seen = DATA.pairs.filter((pair) => pair.association?.seen).length;
  pairsView.chosen = sortedPairs()[0];
  return [
    el("h2", {}, "Pairs"),
    el("p", { class: "lead" }, seen === 0 ? "No two columns can be seen to go together: the noise hides all relations."
      : `${whole(seen)} ${seen === 1 ? "pair" : "pairs"} of columns can be seen to go together. The strongest comes first.`),
    el("p", { class: "hint" }, `Strength is Cramér's V: 0 where two columns have nothing to do with each other, 1 where one tells the other. The noise is taken out. ${unmeasured()}`),
    el("div", { class: "columns wide-left" },
      el("div", {}, el("div", { class: "controls" }, searchField("Search", (text) => { pairsView.search = text; pairsView.shown = LISTED; showPairs(); })), el("div", { id: "pair-list" })),
      el("div", { id: "pair" })),
    el("h3", { id: "filter-title" }, "Choose some rows, see all other columns"),
    el("div", { id: "filter" }),
  ];
}

function unmeasured() {
  const all = (DATA.columns.length * (DATA.columns.length - 1)) / 2, none = all - DATA.pairs.length;
  if (none === 0) return "All pairs were measured.";
  return `${whole(none)} of ${whole(all)} pairs were not measured together, and are not listed: this release says nothing about them.`;
}

function pairName(pair) {
  return pair.columns.map((column) => short(DATA.columns[column].name, 24)).join(" × ");
}

function showPairs() {
  const words = pairsView.search.trim().toLowerCase().split(/[\s×,]+/).filter(Boolean);
  const found = sortedPairs().filter((pair) => words.every((word) => pair.columns.some((column) => DATA.columns[column].name.toLowerCase().includes(word))));
  const rows = found.slice(0, pairsView.shown).map((pair) => [
    el("button", { type: "button", class: "link", "aria-pressed": String(pair === pairsView.chosen), onclick: () => choosePair(pair) }, pairName(pair)),
    strengthBar(pair), associationText(pair)]);
  const more = found.length > pairsView.shown ? el("p", {}, el("button", { type: "button", class: "quiet", onclick: () => { pairsView.shown += 100; showPairs(); } }, `${whole(Math.min(100, found.length - pairsView.shown))} more of ${whole(found.length)}`)) : null;
  document.getElementById("pair-list").replaceChildren(...(found.length === 0 ? [el("p", {}, "No measured pair has such a name.")]
    : [tableOf("Pairs of columns, the strongest first", ["columns", "strength", "with its 95 % interval"], rows, (place) => place === 2, "pairs")]), ...(more === null ? [] : [more]));
}

function choosePair(pair) {
  pairsView.chosen = pair;
  document.querySelectorAll("#pair-list button.link").forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === pairName(pair))));
  showPair(document.getElementById("pair"), pair);
}

function strengthBar(pair) {
  const value = pair.association?.value ?? 0, seen = pair.association?.seen;
  return draw("svg", { class: "strength", viewBox: "0 0 100 10", width: 100, height: 10, "aria-hidden": "true" },
    draw("rect", { class: "bar off", width: 100, height: 10 }), draw("rect", { class: seen ? "bar" : "bar faint", width: 100 * value, height: 10 }));
}

function associationText(pair) {
  const found = pair.association;
  if (found === null) return "too small to tell";
  return found.seen ? `${found.value.toFixed(2)} (${found.low.toFixed(2)} to ${found.high.toFixed(2)})` : `too small to tell, at most ${found.high.toFixed(2)}`;
}

function showPair(place, pair) {
  const [first, second] = pair.columns.map((column) => DATA.columns[column]), figure = el("div", { class: "figure" });
  place.replaceChildren(
    el("h3", {}, named(first.name, 24), " × ", named(second.name, 24)), figure,
    factsOf([
      ["strength", associationText(pair)],
      ["cells", whole(pair.cells)],
      ["noise of a count", `± ${brief(1.96 * pair.noise, 3)} rows`],
      ["smallest group that can be seen", pair.smallest === null ? "none" : `${whole(pair.smallest)} rows`],
    ]));
  const [marginal] = marginalsOf(pair.columns);
  if (marginal === undefined) figure.append(el("p", { class: "hint" }, "Its table has too many cells for this page. "), copyable("Command", `kernelease query ${shellWord(DATA.bundle)} crosstab ${shellWord(first.name)} ${shellWord(second.name)}`));
  else figure.append(...heatMap(marginal, pair, roomIn(figure, 460)));
}

/** Where each cell of a number or a date begins, to be written at its edge; null where cells are values of their own. */
function edgeLabels(column, groups) {
  const cells = membersOf(groups);
  if (!isCelled(column) || cells.every((atoms) => atoms.length === 1 && column.low[atoms[0]] === column.high[atoms[0]])) return null;
  const texts = cells.map((atoms) => (isNull(column, atoms[0]) ? "NULL" : edgeText(column, atoms)));
  return texts.map((text, place) => (place > 0 && text === texts[place - 1] ? "" : text));
}

/** Where a cell begins, with as many digits as tell it from where it ends. */
function edgeText(column, atoms) {
  const low = column.low[atoms[0]];
  if (isFine(column, atoms[0], atoms.at(-1))) return startText(column, atoms[0]);
  if (["date", "datetime"].includes(column.type) || column.spacing !== null) return short(boundText(column, atoms[0]), 16);
  return plain(Number(low.toFixed(digitsOf({ low: [low, low], high: [column.high[atoms.at(-1)], column.high[atoms.at(-1)]] }, 0))));
}

/** The estimated share of each cell: full where it stands out of the noise, empty where it does not. */
function heatMap(marginal, pair, width) {
  const [first, second] = pair.columns.map((column) => DATA.columns[column]);
  const [down, across] = pair.columns.map((column, axis) => membersOf(marginal.groups[axis]).map((atoms) => ({ cell: marginal.groups[axis][atoms[0]], label: labelOf(DATA.columns[column], atoms), null: isNull(DATA.columns[column], atoms[0]) })));
  const error = (1.96 * pair.noise) / DATA.rows, share = (one, other) => Math.max(0, marginal.counts[one.cell * marginal.sizes[1] + other.cell] / DATA.rows);
  const most = Math.max(...down.flatMap((one) => across.map((other) => share(one, other))), 1e-12);
  const edges = pair.columns.map((column, axis) => edgeLabels(DATA.columns[column], marginal.groups[axis]));
  const texts = [down, across].map((list, axis) => list.map(({ label }, place) => (edges[axis] === null ? short(label, 16) : edges[axis][place])));
  const left = Math.min(130, 14 + Math.max(...texts[0].map(roomOf))), line = clip(380 / down.length, [3, 24]), gaps = [down, across].map((list) => (list.at(-1).null ? 5 : 0));
  const size = (width - left - 8 - gaps[1]) / across.length, flat = edges[1] === null && size > 8 + Math.max(...across.map(({ label }) => roomOf(short(label, 28))));
  const shift = edges.map((labels, axis) => (labels === null ? 0.5 : 0.04)), tall = (row) => (edges[0] === null || down[row].null ? y(row) + line / 2 : y(row) + 1);
  const below = flat ? 20 : Math.min(96, 16 + 0.72 * Math.max(...texts[1].map(roomOf))), height = 6 + line * down.length + gaps[0] + below;
  const x = (place) => left + size * place + (across[place].null ? gaps[1] : 0), y = (place) => 4 + line * place + (down[place].null ? gaps[0] : 0);
  const rects = down.flatMap((one, row) => across.map((other, column) => {
    const value = share(one, other), clear = value > error;
    return draw("rect", { class: clear ? "cell" : "cell empty", x: x(column) + 0.5, y: y(row) + 0.5, width: Math.max(0.5, size - 1), height: Math.max(0.5, line - 1), "fill-opacity": clear ? 0.12 + 0.88 * Math.sqrt(value / most) : null },
      said(`${short(one.label, 40)}, ${short(other.label, 40)}: ${clear ? percent(value, 2) : "too small to tell"} (± ${percent(error, 2)})`));
  }));
  const every = (list, room) => Math.max(1, Math.ceil(room / list)), [skipDown, skipAcross] = [every(line, 13), every(size, 15)];
  return [picture(width, height, `${short(first.name)} by ${short(second.name)}: share of rows in each cell`, rects,
    down.map((one, row) => (row % skipDown && !one.null ? null : written(left - 6, tall(row) + 3.5, texts[0][row], "end"))),
    flat ? across.map((one, column) => written(x(column) + size / 2, height - 6, short(one.label, 28))) : across.map((one, column) => (column % skipAcross && !one.null ? null : draw("text", { class: "tick", "text-anchor": "end", transform: `translate(${(x(column) + size * (one.null ? 0.5 : shift[1]) + 3).toFixed(1)},${(height - below + 10).toFixed(1)}) rotate(-45)` }, texts[1][column])))),
  el("p", { class: "key" }, sign("estimate", `up to ${percent(most, 1)} of rows in a cell`), sign("hollow", `less than the noise of a cell, ${percent(error, 2)}`))];
}
