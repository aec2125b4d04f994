/* Counts, shares, means and cross-tables, from what the page carries. `NotHere` where only the command line can tell. */

/** The share of rows with `event` among those with `where`, or (`total`) how many there are. Null: no such row can be. */
function shareOf(event, where, total = false) {
  const conditions = [event, where].filter(Boolean), columns = conditions.length === 0 ? [0] : columnsIn(conditions);
  if (columns.length > 2) throw new NotHere("More than two columns are answered by the command line.");
  const rounds = marginalsOf(columns);
  if (rounds.length === 0) throw new NotHere(columns.length === 1 ? "This column was not counted, or not sent with this page." : "These columns were not measured together, or not sent with this page.");
  const divisor = where !== null ? null : DATA.total ?? (total ? 1 : null);
  const found = rounds.map((marginal) => ({ marginal, functions: functionsOf(marginal, event, where) })).filter(({ functions }) => functions.possible !== null);
  if (found.length === 0) return null;
  const { marginal, functions } = bestOf(found, divisor);
  if (!functions.exact && functions.everyCut) throw new NotHere("The condition cuts through every cell.");
  return ratioEstimate(marginal, functions, divisor, total && DATA.total !== null ? DATA.total : 1);
}

/** Of several rounds the one with the shortest interval, by noise and the columns' own shares: so that no lucky one is preferred. */
function bestOf(found, divisor) {
  if (found.length === 1) return found[0];
  const width = ({ marginal, functions }, most) => widthOf(marginal, functions, divisor, filled(marginal, most), most);
  const finest = found.reduce((best, one) => (one.marginal.size > best.marginal.size ? one : best));
  const sure = (one) => one.functions.exact || (one.functions.settled && one === finest);
  const exact = found.filter(sure), least = Math.min(...exact.map((one) => width(one, false)));
  const kept = exact.length === 0 ? found : found.filter((one) => sure(one) || width(one, true) < least);
  return kept.reduce((best, one) => (width(one, false) < width(best, false) ? one : best));
}

/** The groups of a column, as finely as it was measured with others: label and condition of each. */
function groupsOf(column, others = []) {
  const columns = [...new Set([column, ...others])].sort((one, other) => one - other);
  if (columns.length > 2) throw new NotHere("More than two columns are answered by the command line.");
  const rounds = marginalsOf(columns);
  const groups = rounds.length === 0
    ? Array.from({ length: DATA.columns[column].size }, (_, atom) => atom) : rounds[0].groups[rounds[0].columns.indexOf(column)];
  return membersOf(groups).map((atoms) => ({ label: labelOf(DATA.columns[column], atoms), atoms, condition: among(column, atoms) }));
}

/** One answer, or one for each group of `by`: [{ label, atoms, estimate }]. */
function shares(event, where, by, total) {
  if (by === null) return [{ label: null, estimate: total ? shareOf(where, null, true) : shareOf(event, where) }];
  const others = [event, where].filter(Boolean).flatMap((condition) => condition.columns);
  return groupsOf(by, others).map(({ label, atoms, condition }) => {
    const chosen = where === null ? condition : joined([where, condition], true);
    return { label, atoms, estimate: total ? shareOf(chosen, null, true) : shareOf(event, chosen, false) };
  });
}

/** The share of rows in each cell of two columns. */
function crossTable(first, second, where) {
  const others = [first, second, ...(where?.columns ?? [])];
  const [down, across] = [groupsOf(first, others), groupsOf(second, others)];
  if (down.length * across.length > 4096) throw new NotHere("The table has thousands of cells: ask for ranges.");
  const cells = down.map((one) => across.map((other) => shareOf(joined([one.condition, other.condition], true), where)));
  return { down, across, cells };
}

/** Means were asked of the library when the page was made: of all rows, by a column, or of one of its groups. */
function means(column, where, by) {
  const about = DATA.columns[column];
  if (about?.mean === undefined) throw new Unreadable("Only numbers have a mean: ask for a share.");
  if (where === null && by === null) return [{ label: null, estimate: figureOf(about.mean) }];
  const place = by ?? where.columns[0], grouped = DATA.means[about.name]?.[DATA.columns[place].name];
  if ((by !== null && where !== null) || where?.columns.length > 1 || grouped === undefined) {
    throw new NotHere("The page carries means by one column, and of one of its groups.");
  }
  const groups = groupsOf(place, place === column ? [] : [column]);
  if (groups.length !== grouped.length) throw new NotHere("The page does not carry these means.");
  if (by !== null) return groups.map(({ label, atoms }, group) => ({ label, atoms, estimate: figureOf(grouped[group]) }));
  const outcomes = [], held = groups.map(({ atoms }) => new Set(atoms)), found = groups.map(() => new Set());
  for (const point of pointsOf(place, where.leaves)) {
    where.leaves.forEach((leaf) => { outcomes[leaf.id] = leaf.test(point); });
    found[held.findIndex((atoms) => atoms.has(point.atom))].add(where.holds(outcomes) === 1);
  }
  const inside = found.map((flags) => (flags.has(true) ? (flags.size === 1 ? "all" : "some") : "none"));
  if (inside.includes("some") || inside.filter((flag) => flag === "all").length !== 1) throw new NotHere("The page carries means of single groups.");
  return [{ label: null, estimate: figureOf(grouped[inside.indexOf("all")]) }];
}

/** An answer, or the lack of one. */
function answered(ask) {
  const none = (text) => ({ value: NaN, low: NaN, high: NaN, text, little: true });
  try {
    return ask() ?? none("no such row");
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    return none("not measured");
  }
}

/** Share with interval, and that of the synthetic rows, for each bar of a column. */
function entriesOf(place, bars) {
  const column = DATA.columns[place];
  return bars.map((atoms) => ({
    atoms,
    label: labelOf(column, atoms),
    mark: sum(atoms.map((atom) => column.synthetic[atom])),
    ...answered(() => barShare(place, atoms)),
  }));
}

/** The share of some atoms: as `shareOf` says, without asking each value of the column whether it is meant. */
function barShare(place, atoms) {
  const exact = marginalsOf([place]).map((marginal) => ({ marginal, along: alongAxis(marginal.groups[0], marginal.sizes[0], new Set(atoms)) })).find(({ along }) => along !== null);
  if (exact === undefined || marginalsOf([place]).length > 1) return shareOf(among(place, atoms), null);
  const { marginal, along } = exact, ones = new Float64Array(marginal.size).fill(1);
  const functions = { exact: true, settled: true, middle: [along, ones], possible: [Math.min(...along), Math.max(...along)] };
  return ratioEstimate(marginal, functions, DATA.total, 1);
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
