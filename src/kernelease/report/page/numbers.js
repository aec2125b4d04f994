/* Numbers as the command line prints them. */

/** With a number of decimals and commas between thousands. */
function fixed(value, digits) {
  const [whole, rest] = Math.abs(value).toFixed(digits).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (value < 0 || Object.is(value, -0) ? "-" : "") + (rest === undefined ? grouped : `${grouped}.${rest}`);
}

/** Four significant digits, without an exponent where one can do without. */
function brief(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1e4 && Math.abs(value) < 1e15) return fixed(value, 0);
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(digits)));
}

function whole(value) {
  return value === null ? "–" : fixed(value, 0);
}

function percent(share, digits = 1) {
  return share === null || !Number.isFinite(share) ? "–" : `${(100 * share).toFixed(digits)} %`;
}

/** As many decimals as show two digits of a margin. */
function decimals(margin) {
  return margin > 0 ? Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(margin)))) : 0;
}

/** A value and half the length of its interval, or both ends where these are not alike. */
function estimateText(value, low, high) {
  const below = value - low, above = high - value;
  if (Number.isNaN(value)) return "unknown";
  if (!Number.isFinite(below) || !Number.isFinite(above)) return `${brief(value)} (not bounded)`;
  const margin = Math.max(below, above), digits = decimals(margin);
  if (Math.abs(below - above) <= 0.1 * margin) return `${fixed(value, digits)} ± ${fixed(margin, digits)}`;
  return `${fixed(value, digits)} (${fixed(low, digits)} to ${fixed(high, digits)})`;
}
