/* Signature and checksums, checked here and now by the browser's own cryptography. */

async function sumOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Name to sum, from SHA256SUMS. */
function listedSums() {
  const file = DATA.seals.documents[DATA.seals.names.sums];
  if (file === undefined) return new Map();
  const lines = new TextDecoder().decode(bytesOf(file)).split("\n");
  return new Map(lines.map((line) => /^([0-9a-f]{64}) {2}([\w.-]{1,100})$/.exec(line)).filter(Boolean).map((found) => [found[2], found[1]]));
}

/** One line for each document: { name, state: "good" | "bad" | "open", text }. */
async function checkDocuments() {
  const sums = listedSums(), { documents, names, by_hand: byHand } = DATA.seals;
  const results = [];
  for (const [name, data] of Object.entries(documents)) {
    if (name === names.sums || name === names.signature) continue;
    const same = sums.get(name) === await sumOf(bytesOf(data));
    results.push({ name, state: same ? "good" : "bad", text: same ? "as its checksum says" : "not what its checksum says" });
  }
  for (const name of byHand) results.push({ name, state: "open", text: "not in this page: choose the file to check it" });
  for (const name of sums.keys()) {
    if (!(name in documents) && !byHand.includes(name)) results.push({ name, state: "bad", text: "listed, but missing from the bundle" });
  }
  return results;
}

/** The signature over the checksums, by the key in the bundle. */
async function checkSignature() {
  const { documents, names } = DATA.seals, parts = [names.signature, names.key].filter((name) => name in documents);
  if (parts.length === 0) return { state: "open", text: "Not signed: anyone may have made or altered this bundle." };
  if (parts.length === 1 || !(names.sums in documents)) return { state: "bad", text: "A part of the signature is missing." };
  try {
    const pem = new TextDecoder().decode(bytesOf(documents[names.key])).replace(/-----[^-]+-----|\s/g, "");
    const key = await crypto.subtle.importKey("spki", bytesOf(pem), { name: "Ed25519" }, false, ["verify"]);
    const holds = await crypto.subtle.verify("Ed25519", key, bytesOf(documents[names.signature]), bytesOf(documents[names.sums]));
    const by = DATA.seals.key === null ? "" : ` by key ${DATA.seals.key}`;
    return holds
      ? { state: "good", text: `Signed${by}. Compare the key with the publisher's: the bundle itself can't say whose it is.` }
      : { state: "bad", text: "The signature does not belong to these checksums." };
  } catch {
    return { state: "open", text: "This browser has no Ed25519, so the signature was not checked here. kernelease verify checks it." };
  }
}

const MARKS = { good: "✓", bad: "✗", open: "○" };

function sealLine(name, { state, text }) {
  return el("li", { class: state }, el("span", { "aria-hidden": "true" }, MARKS[state]), " ", el("strong", {}, name), ` ${text}`);
}

async function showSeals() {
  const place = document.getElementById("seals"), list = el("ul", { class: "checks", id: "checks" });
  place.replaceChildren(list, picker(list));
  if (!globalThis.crypto?.subtle) {
    list.append(sealLine("Not checked", { state: "open", text: "this browser offers no cryptography here; kernelease verify checks the bundle." }));
    return sealed("open", "Not checked by this browser: run kernelease verify.");
  }
  const [documents, signature] = [await checkDocuments(), await checkSignature()];
  list.append(sealLine("Signature", signature), ...documents.map((one) => sealLine(one.name, one)));
  const good = documents.filter((one) => one.state === "good").length, left = documents.filter((one) => one.state === "open").map((one) => one.name);
  place.append(el("p", { class: "paper" }, `${whole(good)} documents are as their checksums say.${left.length === 0 ? "" : ` Not in this page: ${left.join(", ")}.`}`));
  const found = DATA.seals.findings.filter((one) => !one.holds);
  const broken = [signature, ...documents].some((one) => one.state === "bad");
  if (broken || found.length > 0) {
    return sealed("bad", broken ? "This bundle was changed after it was made. Do not rely on anything here."
      : `This bundle does not hold what it states: ${found.map((one) => one.check).join(", ")}.`);
  }
  return signature.state === "good"
    ? sealed("good", `Signed${DATA.seals.key === null ? "" : ` by key ${DATA.seals.key}`}; every document here is as it was signed.`)
    : sealed("open", `${signature.state === "open" && DATA.seals.key === null ? "Not signed" : "Signature not checked"}; every document here is as its checksum says.`);
}

function sealed(state, text) {
  const place = document.getElementById("verdict");
  place.className = `verdict ${state}`;
  place.replaceChildren(el("span", { "aria-hidden": "true" }, MARKS[state]), ` ${text}`);
}

/** Any files of the bundle, checked against its sums. Nothing is sent anywhere. */
function picker(list) {
  const input = el("input", { type: "file", multiple: true, id: "pick", onchange: async () => {
    const sums = listedSums();
    for (const file of input.files) {
      const listed = sums.get(file.name), same = listed === await sumOf(await file.arrayBuffer());
      list.append(sealLine(short(file.name, 60), listed === undefined ? { state: "bad", text: "is no file of this bundle" }
        : { state: same ? "good" : "bad", text: same ? "chosen: as its checksum says" : "chosen: not what its checksum says" }));
      if (!same) sealed("bad", "A chosen file is not the one that was published.");
    }
  } });
  return labelled("Check files of the bundle, such as data.parquet (they stay on this machine)", input, "noprint");
}
