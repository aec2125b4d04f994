/* One card for each column. */

const FINEST = 100; /* bars that a card shows one by one */
const COARSE = 48; /* bars of a column that has more cells */

/** The atoms of each bar: as declared, or where these are many, in equal runs. Both ends, and NULL, stay by themselves. */
function barsOf(place, fine) {
  const column = DATA.columns[place], atoms = column.labels.map((_, atom) => atom);
  if (fine || !column.ordered || atoms.length <= FINEST) return atoms.map((atom) => [atom]);
  const last = atoms.length - 1 - (column.nullable ? 1 : 0), run = Math.ceil((last - 1) / COARSE);
  const between = d3.range(1, last, run).map((from) => d3.range(from, Math.min(last, from + run)));
  return [[0], ...between, ...d3.range(last, atoms.length).map((atom) => [atom])];
}

/** Share with interval, and that of the synthetic rows, for each bar. */
function entriesOf(place, bars) {
  const column = DATA.columns[place];
  return bars.map((atoms) => ({
    label: labelOf(column, atoms),
    synthetic: sum(atoms.map((atom) => column.synthetic[atom])),
    ...answered(() => shareOf(among(place, atoms), null)),
  }));
}

/** An answer, or the lack of one. */
function answered(ask) {
  try {
    return ask() ?? { value: NaN, low: NaN, high: NaN, text: "no such row", little: true };
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    return { value: NaN, low: NaN, high: NaN, text: "not measured", little: true };
  }
}

function columnsPanel() {
  if (DATA.columns.length === 0) return [el("h2", {}, "Columns"), el("p", {}, "This release is of vectors: it has no declared columns.")];
  const measured = DATA.marginals.length > 0;
  return [
    el("h2", {}, "Columns"),
    el("p", { class: "lead" }, measured ? "What was measured of each column, with the noise that protects people, and how the synthetic rows follow it."
      : "Features of this table were measured together, not its columns: the synthetic rows alone show them."),
    key(),
    el("div", { class: "cards" }, DATA.columns.map((column, place) => columnCard(column, place))),
  ];
}

function columnCard(column, place) {
  const figure = el("div", { class: "figure" });
  const card = el("article", { class: "card", id: `column-${place}` },
    el("h3", {}, named(column.name), el("small", {}, ` ${column.type}`)), figure);
  let fine = false;
  const draw = () => {
    const entries = entriesOf(place, barsOf(place, fine));
    figure.replaceChildren(distribution(column, entries, roomIn(figure), { rows: true }));
  };
  card.draw = draw;
  if (barsOf(place, true).length !== barsOf(place, false).length) {
    const toggle = el("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => {
      fine = !fine;
      toggle.setAttribute("aria-pressed", String(fine));
      draw();
    } }, `all ${column.labels.length} cells`);
    card.append(toggle);
  }
  card.append(factsOf([
    column.mean && ["mean", column.mean.text],
    ...(column.quantiles ?? []).map(([share, figure]) => [share === 0.5 ? "median" : `${100 * share} % are below`, figure.text]),
    column.nullable && ["NULL", answered(() => shareOf(among(place, [column.labels.length - 1]), null)).text],
    column.noise !== undefined && ["noise of a count", column.noise === null ? "not measured" : `± ${brief(1.96 * column.noise, 3)} rows`],
    column.smallest !== undefined && ["smallest group that can be seen", column.smallest === null ? "none" : `${whole(column.smallest)} rows`],
  ]));
  return card;
}
