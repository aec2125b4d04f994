/* Charts: Observable Plot with the page's colours, and every number of a picture also as text. */

const BLUE = "var(--estimate)", ORANGE = "var(--rows)", INK = "var(--ink)", SOFT = "var(--soft)";

/** A chart in a figure, with words for those who don't see it. */
function chart(options, label) {
  const made = Plot.plot({ className: "plot", ariaLabel: label, marginTop: 12, ...options });
  for (const node of made.querySelectorAll("[aria-label]")) node.removeAttribute("aria-label"); /* names of marks */
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  return made;
}

/** Which labels of many have room, evenly, the first and the last among them. */
function sparse(labels, most) {
  if (labels.length <= most) return labels;
  const step = Math.ceil(labels.length / most);
  return labels.filter((_, place) => place % step === 0);
}

/** Where a cell begins, for an axis. */
function startOf(label) {
  return short(label.replace(/^[[(]/, "").split(/, |\.\./)[0], 10);
}

/** Bars of shares with their intervals; the synthetic rows as ticks across them. */
function distribution(column, entries, width, { rows = true, height = 190 } = {}) {
  const keyed = entries.map((entry, place) => ({ ...entry, key: String(place) }));
  const texts = new Map(keyed.map((entry) => [entry.key, entry.label]));
  const seen = keyed.filter((entry) => !entry.little);
  const words = `${short(column.name)}: share of rows by value, with 95 % intervals`;
  const tips = (entry) => `${short(entry.label)}\n${entry.text}${rows ? `\nrows: ${brief(entry.synthetic, 3)}` : ""}`;
  if (!column.ordered && entries.length <= 24) {
    return chart({
      width, height: 34 + 20 * entries.length, marginLeft: Math.min(150, width * 0.4), marginBottom: 30, marginRight: 16,
      x: { label: null, tickFormat: (share) => `${+(100 * share).toFixed(1)}%`, ticks: 4, grid: true },
      y: { label: null, domain: keyed.map((entry) => entry.key), tickFormat: (key) => short(texts.get(key), 20), tickSize: 0 },
      marks: [
        Plot.barX(keyed, { x: "value", y: "key", fill: BLUE, fillOpacity: 0.75, insetTop: 2, insetBottom: 2, title: tips }),
        Plot.ruleY(keyed, { y: "key", x1: "low", x2: "high", stroke: INK, strokeWidth: 1.4 }),
        ...(rows ? [Plot.tickX(keyed, { x: "synthetic", y: "key", stroke: ORANGE, strokeWidth: 3, insetTop: 1, insetBottom: 1 })] : []),
        Plot.ruleX([0], { stroke: SOFT }),
      ],
    }, words);
  }
  const ticks = sparse(keyed.map((entry) => entry.key), Math.max(3, Math.floor(width / 58)));
  return chart({
    width, height, marginLeft: 42, marginBottom: 28, marginRight: 8,
    x: { label: null, domain: keyed.map((entry) => entry.key), ticks, tickFormat: (key) => startOf(texts.get(key)), tickSize: 3, padding: 0.12 },
    y: { label: null, tickFormat: (share) => `${+(100 * share).toFixed(1)}%`, ticks: 4, grid: true },
    marks: [
      Plot.barY(keyed, { x: "key", y: "value", fill: BLUE, fillOpacity: (entry) => (seen.includes(entry) ? 0.75 : 0.3), title: tips }),
      Plot.ruleX(keyed, { x: "key", y1: "low", y2: "high", stroke: INK, strokeWidth: entries.length > 40 ? 0.8 : 1.4 }),
      ...(rows ? [Plot.tickY(keyed, { x: "key", y: "synthetic", stroke: ORANGE, strokeWidth: 2.4 })] : []),
      Plot.ruleY([0], { stroke: SOFT }),
    ],
  }, words);
}

/** What the marks of a distribution mean. */
function key(rows = true) {
  return el("p", { class: "key" }, sign("estimate", "estimate from the noisy counts, with its 95 % interval"), rows ? sign("rows", "the synthetic rows") : null);
}

function sign(kind, text) {
  return el("span", {}, el("span", { class: `swatch ${kind}` }), text);
}

/** How wide a chart may be, in its container or before it stands in one. */
function roomIn(container, fallback = 380) {
  return Math.max(260, Math.min(container.clientWidth || fallback, 1100));
}
