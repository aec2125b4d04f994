/* For the owner alone: the private table beside the release. Such a page is itself private. */

function ownerPanel() {
  const { rows, columns, pairs, learning } = DATA.owner;
  return [
    el("h2", {}, "For the owner only"),
    el("p", { class: "notice bad" }, "PRIVATE: this panel was computed from the private rows, without noise. Do not send or publish this file."),
    el("p", { class: "lead" }, `${whole(rows)} private rows beside ${whole(DATA.synthetic_rows)} synthetic ones.`),
    factsOf([
      ["one column: distance of the distributions, mean", brief(columns.mean, 3)],
      ["two columns: distance of the distributions, mean", brief(pairs.mean, 3)],
    ]),
    el("p", { class: "key" }, sign("estimate", "the private rows"), sign("rows", "the synthetic rows")),
    el("div", { class: "cards" }, DATA.columns.map((column, place) => ownerCard(column, place, columns.real[place], columns.distances[place]))),
    el("h3", {}, "Training on synthetic rows, testing on real ones"),
    typeof learning === "string" ? el("p", {}, learning) : tableOf("Private: scores on half of the private rows; a model of real rows is trained on the other half", ["column to predict", "score", "trained on synthetic rows", "trained on real rows"],
      learning.map((one) => [named(one.target), one.score, brief(one.synthetic, 3), brief(one.real, 3)]), (place) => place > 1),
  ];
}

function ownerCard(column, place, real, distance) {
  const figure = el("div", { class: "figure" }), card = el("article", { class: "card" }, el("p", { class: "private" }, "private"), el("h3", {}, named(column.name)), figure,
    factsOf([["distance of the distributions", brief(distance, 3)]]));
  card.draw = () => {
    card.drawn = true;
    const entries = barsOf(column).map((atoms) => {
      const share = sum(atoms.map((atom) => real[atom]));
      return { atoms, label: labelOf(column, atoms), mark: sum(atoms.map((atom) => column.synthetic[atom])), value: share, low: share, high: share, text: percent(share, 2) };
    });
    figure.replaceChildren(distribution(column, entries, roomIn(figure)));
  };
  return card;
}
