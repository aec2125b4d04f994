/* Two releases side by side: what each promises, and every column with the difference and its interval. */

const MOVED = "differs"; /* by more than the noise explains, whatever else is compared */

function comparePanel() {
  const { title, promise, rows, columns, pairs, only, holds, comparisons, same_noise: sameNoise } = DATA.comparison;
  const moved = columns.filter((column) => column.values.some((value) => value.moved)).length;
  return [
    el("h2", {}, "Compared with ", named(title, 60)),
    el("p", { class: "lead" }, moved === 0 ? "No column can be seen to differ between the two releases: all differences may be noise."
      : `${moved} of ${columns.length} columns ${moved === 1 ? "differs" : "differ"} by more than the noise explains.`),
    holds ? null : el("p", { class: "notice bad" }, "The other bundle was changed after it was made, or does not hold what it states. Do not rely on this comparison."),
    sameNoise ? el("p", { class: "notice bad" }, "Both were made from the same measurements: their differences say nothing about people.") : null,
    tableOf("The two releases", ["", short(DATA.title, 30), short(title, 30)], [
      ["private table", `${whole(DATA.rows)} rows`, `${whole(rows)} rows`],
      ["epsilon", brief(DATA.promise.epsilon), brief(promise.epsilon)],
      ["delta", brief(DATA.promise.delta), brief(promise.delta)],
      ["in words", shown(DATA.promise.words), shown(promise.words)],
    ]),
    only.length === 0 ? null : el("p", { class: "hint" }, `Not compared, since the two declare them differently: ${only.map((name) => short(name)).join(", ")}.`),
    el("p", { class: "hint" }, `A difference is the first release less the second, in points of a percent. Each interval holds the true difference in 95 % of cases. “${MOVED}” is said where the noise does not explain it, even though ${whole(comparisons)} differences were looked at.`),
    el("p", { class: "key" }, sign("estimate", `${short(DATA.title, 40)}, with its 95 % interval`), sign("rows", short(title, 40))),
    el("div", { class: "cards broad" }, columns.map(compareCard)),
    ...(pairs.length === 0 ? [] : [el("h3", {}, "Relations"), tableOf("Strength of relations in both releases; apart: their intervals have nothing in common", ["columns", "first", "second", ""],
      pairs.slice(0, 60).map(({ names, first, second }) => [names.map((name) => short(name, 24)).join(" × "), associationText({ association: first }), associationText({ association: second }), apartText(first, second)]), (place) => place === 1 || place === 2)]),
  ];
}

/** Whether two intervals have nothing in common. */
function apartText(first, second) {
  return first !== null && second !== null && (first.low > second.high || second.low > first.high) ? "apart" : "";
}

function compareCard({ name, place, mean, values }) {
  const column = DATA.columns[place], figure = el("div", { class: "figure" }), most = 8;
  const told = [...values].sort((one, other) => other.moved - one.moved || Math.abs(other.difference[0] ?? 0) - Math.abs(one.difference[0] ?? 0)).slice(0, most);
  const left = el("div", {}, el("h3", {}, named(name)), figure, mean === null ? null : factsOf([["mean, first", figureOf(mean[0]).text], ["mean, second", figureOf(mean[1]).text], ["difference", figureOf(mean[2]).text]]));
  const table = tableOf(`${short(name, 40)}: ${values.length > most ? `the ${most} largest of ${values.length} differences` : "differences of shares"}`, ["", "difference", "first", "second"],
    told.map(({ atoms, label, first, second, difference, moved }) => [short(label ?? labelOf(column, atoms), 28), [pointsText(figureOf(difference)), moved ? el("strong", { class: "moved" }, ` ${MOVED}`) : null], ...[first, second].map((one) => shareText(figureOf(one)))]), (at) => at > 0);
  const card = el("article", { class: "card beside" }, left, table);
  card.draw = () => {
    card.drawn = true;
    const entries = values.map(({ atoms, label, first, second }) => ({ atoms, label: label ?? labelOf(column, atoms), ...figureOf(first), mark: figureOf(second).value }));
    figure.replaceChildren(distribution(column, entries, roomIn(figure), { marked: "second release" }));
  };
  return card;
}

/** A difference of shares in points of a percent. */
function pointsText({ value, low, high }) {
  if (![value, low, high].every(Number.isFinite)) return "unknown";
  const margin = 100 * Math.max(value - low, high - value), digits = Math.min(3, decimals(margin));
  return `${value > 0 ? "+" : ""}${fixed(100 * value, digits)} ± ${fixed(margin, digits)}`;
}
