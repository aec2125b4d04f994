/* Counts, shares, means and cross-tables, from what the page carries. `NotHere` where only the command line can tell. */

/** A condition as a function of a marginal's cells; null where a cell is cut by it. */
function onCells(marginal, condition) {
  const cells = new Float64Array(marginal.size).fill(-1), atoms = [];
  const [first, second] = marginal.columns, [down, across] = marginal.groups;
  for (let one = 0; one < down.length; one++) {
    atoms[first] = one;
    for (let other = 0; other < (across?.length ?? 1); other++) {
      if (across !== undefined) atoms[second] = other;
      const found = condition === null ? 1 : condition.at(atoms);
      const cell = across === undefined ? down[one] : down[one] * marginal.sizes[1] + across[other];
      if (Number.isNaN(found)) return null;
      const value = found === 1 ? 1 : 0;
      if (cells[cell] >= 0 && cells[cell] !== value) return null;
      cells[cell] = value;
    }
  }
  return cells;
}

function columnsOf(...conditions) {
  const found = [...new Set(conditions.filter(Boolean).flatMap((condition) => condition.columns))];
  return found.length === 0 ? [0] : found.sort((one, other) => one - other);
}

/** The share of rows with `event` among those with `where`, or (`total`) how many there are. Null: no such row can be. */
function shareOf(event, where, total = false) {
  const conditions = [event, where].filter(Boolean), columns = columnsOf(...conditions);
  if (columns.length > 2) throw new NotHere("More than two columns are answered by the command line.");
  const rounds = marginalsOf(columns);
  if (rounds.length === 0) throw new NotHere("These columns were not measured together, or not sent with this page.");
  const hits = conditions.length === 0 ? null : joined(conditions, true);
  const found = rounds.map((marginal) => ({ marginal, above: onCells(marginal, hits), below: where === null ? null : onCells(marginal, where) }))
    .filter((one) => one.above !== null && (where === null || one.below !== null));
  if (found.length === 0) throw new NotHere("The condition cuts through cells: the interval must hold every place of a row in its cell.");
  const { marginal, above, below } = sharpest(found.map((one) => ({ ...one, above: one.marginal.linear(one.above) })));
  return average(marginal, above, below, total);
}

/** Of several rounds the one with the least noise: by the noise alone, so that no lucky one is preferred. */
function sharpest(found) {
  if (found.length === 1) return found[0];
  const errors = found.map(({ above }) => covariance(above, above));
  return found[errors.indexOf(Math.min(...errors))];
}

/** The groups of a column, as finely as it was measured with others: label and condition of each. */
function groupsOf(column, others = []) {
  const columns = [...new Set([column, ...others])].sort((one, other) => one - other);
  if (columns.length > 2) throw new NotHere("More than two columns are answered by the command line.");
  const rounds = marginalsOf(columns);
  const groups = rounds.length === 0
    ? DATA.columns[column].labels.map((_, atom) => atom) : rounds[0].groups[rounds[0].columns.indexOf(column)];
  return membersOf(groups).map((atoms) => ({ label: labelOf(DATA.columns[column], atoms), atoms, condition: among(column, atoms) }));
}

/** One answer, or one for each group of `by`: [{ label, estimate }]. */
function shares(event, where, by, total) {
  if (by === null) return [{ label: null, estimate: total ? shareOf(where, null, true) : shareOf(event, where) }];
  const others = [event, where].filter(Boolean).flatMap((condition) => condition.columns);
  return groupsOf(by, others).map(({ label, condition }) => {
    const chosen = where === null ? condition : joined([where, condition], true);
    return { label, estimate: total ? shareOf(chosen, null, true) : shareOf(event, chosen, false) };
  });
}

/** The share of rows in each cell of two columns. */
function crossTable(first, second, where) {
  const others = [first, second, ...(where?.columns ?? [])];
  const [down, across] = [groupsOf(first, others), groupsOf(second, others)];
  const cells = down.map((one) => across.map((other) => shareOf(joined([one.condition, other.condition], true), where)));
  return { down, across, cells };
}

/** Means were asked of the library when the page was made: of all rows, by a column, or of one of its groups. */
function means(column, where, by) {
  const about = DATA.columns[column];
  if (about.mean === undefined) throw new Unreadable(`“${short(about.name)}” has no mean: ask for a share.`);
  if (where === null && by === null) return [{ label: null, estimate: about.mean }];
  const place = by ?? where.columns[0], grouped = DATA.means[about.name]?.[DATA.columns[place].name];
  if ((by !== null && where !== null) || where?.columns.length > 1 || grouped === undefined) {
    throw new NotHere("The page carries means by one column, and of one of its groups.");
  }
  if (by !== null) return grouped.map(([label, estimate]) => ({ label, estimate }));
  const found = groupsOf(place, [column]).map(({ atoms }) => atoms.map((atom) => {
    const at = [];
    at[place] = atom;
    return where.at(at);
  }));
  const all = found.findIndex((outcomes) => outcomes.every((one) => one === 1));
  if (all < 0 || found.some((outcomes, group) => group !== all && outcomes.some((one) => one === 1 || Number.isNaN(one)))) {
    throw new NotHere("The page carries means of single groups.");
  }
  return [{ label: null, estimate: grouped[all][1] }];
}
