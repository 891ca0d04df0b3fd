"use strict";
// What tokens do on every page, served or written: twins, arrow keys, and copying ids.
// It is put into written pages as it is, which are XML too: no ampersand, no less-than sign.

const panels = document.getElementById("panels");
let lit = [];

// The tokens of other panels that stand for the same part of the text.
function twins(tile) {
  const part = tile.dataset.twin;
  if (part === undefined) return [];
  const all = [...panels.querySelectorAll(`[data-twin="${part}"]`)];
  return all.filter((other) => other.closest(".panel") !== tile.closest(".panel"));
}

function light(tile) {
  for (const other of lit) other.classList.remove("twin");
  lit = tile ? twins(tile) : [];
  let said = "", panel = null;
  for (const other of lit) {
    other.classList.add("twin");
    const own = other.closest(".panel");
    said += own === panel ? " " : `; in ${own.querySelector("h2").textContent}: `;
    said += other.querySelector("small").textContent;
    panel = own;
  }
  if (tile) tile.dataset.twins = said;
}

function spread(root) {
  for (const flow of root.querySelectorAll(".flow")) {
    for (const tile of flow.querySelectorAll(".tile")) tile.setAttribute("tabindex", "-1");
    flow.querySelector(".tile")?.setAttribute("tabindex", "0");
  }
}

// By an arrow key to the next token; whether the key was one.
function move(tile, key) {
  if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) return false;
  const tiles = [...tile.closest(".flow").querySelectorAll(".tile")];
  const rightToLeft = getComputedStyle(tile.closest(".line")).direction === "rtl";
  const step = (key === "ArrowRight") === rightToLeft ? -1 : 1;
  const place = { Home: 0, End: tiles.length - 1 }[key] ?? tiles.indexOf(tile) + step;
  const next = tiles[Math.max(0, Math.min(tiles.length - 1, place))];
  tile.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
  return true;
}

async function copyIds(button) {
  const ids = [...button.closest(".panel").querySelectorAll(".tile small")];
  await navigator.clipboard.writeText(`[${ids.map((id) => id.textContent).join(", ")}]`);
}

for (const kind of ["pointerover", "focusin"]) {
  panels.addEventListener(kind, (event) => light(event.target.closest(".flow .tile")));
}
panels.addEventListener("pointerleave", () => light(document.activeElement.closest(".flow .tile")));
panels.addEventListener("focusout", () => light(null));
panels.addEventListener("keydown", (event) => {
  const tile = event.target.closest(".flow .tile");
  if (!tile || event.altKey || event.ctrlKey || event.metaKey) return;
  if (move(tile, event.key)) event.preventDefault();
});
panels.addEventListener("click", async (event) => {
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
