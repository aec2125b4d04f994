/* Vectors: a picture of the synthetic rows along the axes on which they vary most, their classes, how exact they are. */

const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c6d1f"]; /* Okabe and Ito's */
const GRID = 36; /* cells of the shading, in either direction */
const pointsView = { across: 0, up: 1, chosen: null };

function pointsPanel() {
  const points = DATA.points;
  if (points === null || points === undefined) return [el("h2", {}, "Points"), el("p", {}, "These rows are no numbers, so there is no picture of them. Ask the release in Python."), copyable("Python", `kernelease.load(${pythonText(DATA.bundle)})`)];
  const count = points.shares.length, names = points.shares.map((share, place) => [place, axisName(points, place)]);
  const redo = (change) => (value) => { change(Number(value)); showPoints(); };
  return [
    el("h2", {}, "Points"),
    el("p", { class: "lead" }, `${points.weights === null ? `${whole(points.places.length)} of the synthetic rows` : "The synthetic rows; the larger a point, the more it weighs"}${points.columns > 2 ? `, along the axes on which their ${points.columns} numbers vary most` : ""}. No point is a person.`),
    count < 3 ? null : el("div", { class: "controls" }, choice("Across", names, redo((place) => { pointsView.across = place; }), 0).field, choice("Up", names, redo((place) => { pointsView.up = place; }), 1).field),
    el("div", { class: "columns two" }, el("div", {}, el("div", { id: "point-classes", class: "chips" }), el("div", { class: "figure", id: "point-picture" })),
      el("div", {}, ...accuracyShown(points.accuracy), ...axesShown(points), ...classesShown(points.classes))),
    el("p", {}, "Ask it in Python:"),
    copyable("Python", `kernelease.load(${pythonText(DATA.bundle)}).vectors()`),
  ];
}

function axisName(points, place) {
  return Array.isArray(points.axes) ? points.axes[place] : `axis ${place + 1} (${percent(points.shares[place], 0)} of the variance)`;
}

/** Draw the chosen axes, and chips of the classes. */
function showPoints() {
  const { classes } = DATA.points, chips = document.getElementById("point-classes"), place = document.getElementById("point-picture");
  chips.replaceChildren(...(classes === null ? [] : [null, ...classes.keys()].map((code) => el("button", { type: "button", class: "chip", "aria-pressed": String(pointsView.chosen === code), onclick: () => { pointsView.chosen = code; showPoints(); } },
    code === null ? "all classes" : [el("span", { class: `swatch hue-${code % HUES.length}` }), short(classes[code].name, 24)]))));
  place.replaceChildren(scatter(DATA.points, roomIn(place, 520)));
}

/** Points over the density of all of them, in a square of equal units. */
function scatter(points, width) {
  const { across, up, chosen } = pointsView, one = points.shares.length === 1, [left, bottom, top] = [46, 34, 8], height = Math.min(width, 520);
  const xs = points.places.map((row) => row[across]), ys = points.places.map((row) => (one ? 0 : row[up]));
  const reach = (values) => [Math.min(...values), Math.max(...values)], [[lowX, highX], [lowY, highY]] = [reach(xs), reach(ys)];
  const room = [width - left - 10, height - top - bottom], unit = Math.max((highX - lowX) / room[0], (highY - lowY) / room[1], 1e-12) * 1.06;
  const x = (value) => left + room[0] / 2 + (value - (lowX + highX) / 2) / unit, y = (value) => top + room[1] / 2 - (value - (lowY + highY) / 2) / unit;
  const shown = points.places.map((_, row) => row).filter((row) => chosen === null || points.codes[row] === chosen);
  const ticks = (low, high, size) => ticksOf(low, high, Math.max(2, Math.floor(size / 80)));
  const [fromX, toX] = [(lowX + highX) / 2 - (unit * room[0]) / 2, (lowX + highX) / 2 + (unit * room[0]) / 2], [fromY, toY] = [(lowY + highY) / 2 - (unit * room[1]) / 2, (lowY + highY) / 2 + (unit * room[1]) / 2];
  const words = `${whole(shown.length)} synthetic rows: ${axisName(points, across)} across${one ? "" : `, ${axisName(points, up)} up`}; darker where there are more`;
  return picture(width, height, words, shading(shown.map((row) => [x(xs[row]), y(ys[row]), points.weights?.[row] ?? 1]), [left, top, ...room]),
    ticks(fromX, toX, room[0]).map((value) => [ruled(x(value), top, x(value), top + room[1], "across"), written(x(value), height - 16, tickText(value))]),
    one ? null : ticks(fromY, toY, room[1]).map((value) => [ruled(left, y(value), left + room[0], y(value), "across"), written(left - 6, y(value) + 3.5, tickText(value), "end")]),
    shown.map((row) => draw("circle", { class: `point hue-${points.codes === null ? 0 : points.codes[row] % HUES.length}`, cx: x(xs[row]), cy: y(ys[row]), r: clip(2.4 * Math.sqrt(points.weights?.[row] ?? 1), [0.6, 9]) })),
    written(left + room[0] / 2, height - 2, axisName(points, across)));
}

/** A grid of cells, darker where there are more points: a Gaussian of each, as wide as so many points can tell. */
function shading(places, [left, top, width, height]) {
  if (places.length < 10) return null;
  const all = sum(places.map(([, , weight]) => weight)), mean = (values) => sum(values.map((value, place) => value * places[place][2])) / all;
  const spread = (values) => { const middle = mean(values); return Math.sqrt(mean(values.map((value) => (value - middle) ** 2))); };
  const scale = places.length ** (-1 / 6), wide = [0, 1].map((axis) => Math.max(4, scale * spread(places.map((place) => place[axis]))));
  const cells = [], size = [width / GRID, height / GRID];
  for (let column = 0; column < GRID; column++) for (let row = 0; row < GRID; row++) {
    const [cx, cy] = [left + (column + 0.5) * size[0], top + (row + 0.5) * size[1]];
    cells.push([column, row, sum(places.map(([px, py, weight]) => weight * Math.exp(-0.5 * (((px - cx) / wide[0]) ** 2 + ((py - cy) / wide[1]) ** 2))))]);
  }
  const most = Math.max(...cells.map(([, , density]) => density));
  return cells.filter(([, , density]) => density > 0.02 * most).map(([column, row, density]) => draw("rect", { class: "density", x: left + column * size[0], y: top + row * size[1], width: size[0], height: size[1], "fill-opacity": 0.04 + 0.4 * (density / most) }));
}

/** What was measured, beside a fresh sample. */
function accuracyShown(accuracy) {
  if (accuracy === null) return [];
  const sample = accuracy.sample === null ? null : `as exact as a sample of about ${whole(Number(accuracy.sample.toPrecision(2)))} real rows`;
  return [el("h3", {}, "How exact is it?"),
    sample === null ? null : el("p", {}, "What was measured is ", el("strong", {}, sample), ` would be; the table has ${whole(DATA.rows)}.`),
    factsOf([
      ["error of what was measured", brief(accuracy.noise, 3)],
      [`error of ${whole(DATA.rows)} fresh rows`, brief(accuracy.fresh, 3)],
      accuracy.fit !== null && ["rows against what was measured", accuracy.fit < 1e-3 ? "the same" : `${brief(accuracy.fit, 3)} of that error`],
      ["noisy numbers", whole(accuracy.numbers)],
    ]),
    el("p", { class: "hint" }, "Errors are distances of mean embeddings, in the kernel's own units.")];
}

function axesShown(points) {
  if (Array.isArray(points.axes)) return [];
  return [el("h3", {}, "How the rows vary"), tableOf("Share of the variance along each axis", ["axis", "share of the variance"], points.shares.map((share, place) => [`axis ${place + 1}`, percent(share, 1)]), (place) => place === 1)];
}

function classesShown(classes) {
  if (classes === null) return [];
  return [el("h3", {}, "Classes"), tableOf("Share of rows in each class", ["class", "measured", "in the synthetic rows"], classes.map(({ name, share, rows }) => [named(name), shareText(figureOf(share)), percent(rows, 1)]), (place) => place > 0)];
}
