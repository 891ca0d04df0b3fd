"use strict";
// What tokens do on every page, served or written: names, bytes, twins, arrow keys, copying ids.
// It is put into written pages as it is, which are XML too: no ampersand, no less-than sign.

const TILE = ".flow b";
const NAMED = 400; // tokens that get their names at one go
const panels = document.getElementById("panels"), told = document.getElementById("told");
const pressed = panels.querySelector("#shown") ? "button" : "img"; // what a token is
let lit = [];
const read = new WeakMap(); // what is known of each flow

// A list that was written in runs: VALUE*COUNT, or VALUE.
function runs(written) {
  return (written ?? "").split(" ").filter((run) => run).flatMap((run) => {
    const [value, count] = run.split("*");
    return Array(Number(count ?? 1)).fill(value);
  });
}

// The tokens of a flow, with the part of the text that each belongs to and where each differs.
function flowOf(tile) {
  const flow = tile.closest(".flow");
  if (!read.has(flow)) {
    let part = 0;
    const parts = runs(flow.dataset.twins).map((step) => step === "-" ? -1 : (part += Number(step)));
    const bytes = new Map((flow.dataset.bytes ?? "").split(" ").map((pair) => pair.split(":")));
    const tiles = [...flow.querySelectorAll("b")], places = new Map(tiles.map((each, at) => [each, at]));
    read.set(flow, { tiles, places, parts, where: runs(flow.dataset.where), bytes });
  }
  return read.get(flow);
}

function placeOf(tile) {
  return flowOf(tile).places.get(tile);
}

function idOf(tile) {
  return tile.lastElementChild.textContent;
}

function nameOf(panel) {
  return panel.querySelector("h2").textContent;
}

// The bytes of a token in hexadecimal: those of its text, where the page does not know better.
function bytesOf(tile) {
  const known = flowOf(tile).bytes.get(idOf(tile));
  if (known !== undefined) return known.replace(/(..)(?=.)/g, "$1 ");
  const text = [...tile.childNodes].slice(0, -1).map((node) => node.textContent).join("");
  const digits = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0"));
  return digits.join(" ").toUpperCase();
}

// How a token differs, in words; empty where it does not.
function remarkOf(tile) {
  const cut = tile.classList.contains("cut");
  if (!cut) if (!tile.classList.contains("other")) return "";
  const how = cut ? "cut differently" : "other id";
  const where = flowOf(tile).where;
  const numbers = where.length ? where[placeOf(tile)] : "";
  if (!numbers) return how;
  const all = panels.querySelectorAll(".panel");
  return `${how} in ${numbers.split(",").map((number) => nameOf(all[number])).join(", ")}`;
}

// The tokens of other panels that stand for the same part of the text.
function twins(tile) {
  const own = tile.closest(".flow"), { parts } = flowOf(tile);
  const part = parts[placeOf(tile)] ?? -1;
  if (part === -1) return [];
  return [...panels.querySelectorAll(".flow")].filter((flow) => flow !== own).flatMap((flow) => {
    if (!flow.dataset.twins) return [];
    const other = flowOf(flow);
    const first = other.parts.indexOf(part), last = other.parts.lastIndexOf(part);
    return other.tiles.slice(Math.max(first, 0), last + 1).filter((_, at) => other.parts[first + at] === part);
  });
}

// Shows a token's twins, and tells them and its bytes to those who see and those who hear.
function light(tile) {
  for (const other of lit) other.classList.remove("twin");
  lit = tile ? twins(tile) : [];
  told.hidden = !tile;
  if (!tile) return;
  const remark = remarkOf(tile);
  let said = `${idOf(tile)} = ${bytesOf(tile)}${remark ? ` (${remark})` : ""}`, panel = null;
  for (const other of lit) {
    other.classList.add("twin");
    const own = other.closest(".panel");
    said += own === panel ? " " : `; in ${nameOf(own)}: `;
    said += idOf(other);
    panel = own;
  }
  told.textContent = said;
}

// What a token is called by those who hear it.
function name(tile) {
  const parts = [...tile.childNodes].slice(0, -1).map((node) => {
    if (node.nodeName === "U") return "a space";
    if (node.nodeName === "BDI") return node.title || `the byte 0x${node.textContent}`;
    return node.textContent;
  });
  const remark = remarkOf(tile);
  tile.setAttribute("role", pressed);
  tile.setAttribute("aria-label", `${parts.join(" ")}, ${idOf(tile)}${remark ? `, ${remark}` : ""}`);
}

// Tokens get their names when nothing else is to be done: there may be tens of thousands.
function nameAll(tiles) {
  const later = self.requestIdleCallback ?? ((call) => setTimeout(call, 50));
  let at = 0;
  const some = () => {
    if (!tiles[at]?.isConnected) return;
    for (const tile of tiles.slice(at, at + NAMED)) name(tile);
    at += NAMED;
    later(some);
  };
  some();
}

// The keyboard gets to one token of each flow, and from there to the others.
function stand(tile) {
  tile.closest(".flow").querySelector("[tabindex]")?.removeAttribute("tabindex");
  tile.setAttribute("tabindex", "0");
  tile.setAttribute("aria-describedby", "told");
  name(tile);
}

function spread(root) {
  for (const flow of root.querySelectorAll(".flow:has(b)")) {
    const { tiles } = flowOf(flow);
    stand(tiles[0]);
    nameAll(tiles);
  }
}

// By an arrow key to the next token; whether the key was one.
function move(tile, key) {
  if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) return false;
  const { tiles } = flowOf(tile);
  const rightToLeft = getComputedStyle(tile.closest("p")).direction === "rtl";
  const step = (key === "ArrowRight") === rightToLeft ? -1 : 1;
  const place = { Home: 0, End: tiles.length - 1 }[key] ?? placeOf(tile) + step;
  const next = tiles[Math.max(0, Math.min(tiles.length - 1, place))];
  stand(next);
  next.focus();
  return true;
}

async function copyIds(button) {
  const ids = [...button.closest(".panel").querySelectorAll(".flow i")];
  await navigator.clipboard.writeText(`[${ids.map((id) => id.textContent).join(", ")}]`);
}

for (const kind of ["pointerover", "focusin"]) {
  panels.addEventListener(kind, (event) => light(event.target.closest(TILE)));
}
panels.addEventListener("pointerleave", () => light(document.activeElement.closest(TILE)));
panels.addEventListener("focusout", () => light(null));
panels.addEventListener("keydown", (event) => {
  const tile = event.target.closest(TILE);
  if (!tile || event.altKey || event.ctrlKey || event.metaKey) return;
  if (move(tile, event.key)) event.preventDefault();
});
panels.addEventListener("click", async (event) => {
  const tile = event.target.closest(TILE);
  if (tile) {
    stand(tile);
    tile.focus({ preventScroll: true });
  }
  const button = event.target.closest(".copy");
  if (!button) return;
  const before = button.textContent;
  try {
    await copyIds(button);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
});

spread(panels);
for (const button of panels.querySelectorAll(".copy")) button.hidden = false;
