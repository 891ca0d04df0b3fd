"use strict";

const WAIT = 120; // milliseconds without a keystroke before tokens are asked for
const LONGEST = 6000; // characters of a link that every browser takes
const find = (id) => document.getElementById(id);
const text = find("text"), special = find("special"), said = find("said");
const shown = find("shown"), merges = find("merges");
let current = null; // what the panels show
let waiting = 0; // a timer
let running = false, again = false;

function say(message, bad = false) {
  said.textContent = message;
  said.classList.toggle("bad", bad);
}

async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const found = await answer.text();
  if (!answer.ok) throw new Error(found);
  return new DOMParser().parseFromString(found, "text/html").body.childNodes;
}

function explain(error) {
  say(error instanceof TypeError ? "The program that serves this page does not answer." : error.message, true);
}

// One question at a time: while a long text is encoded, only the last of those typed waits.
async function show() {
  waiting = 0;
  again = running;
  if (running) return;
  running = true;
  const asked = { text: text.value, special: special.checked };
  try {
    const panels = await ask("/tokens", asked);
    shown.replaceChildren(...panels);
    current = asked;
    for (const flow of shown.querySelectorAll(".flow")) {
      flow.querySelector(".tile")?.setAttribute("tabindex", "0");
    }
    say("");
  } catch (error) {
    explain(error);
  }
  running = false;
  if (again) show();
  else if (!waiting) shown.setAttribute("aria-busy", "false");
}

function link() {
  if (!text.value) return location.pathname;
  const said = new URLSearchParams({ text: text.value });
  if (special.checked) said.set("special", "1");
  const made = `#${said}`;
  return made.length > LONGEST ? null : made;
}

function changed() {
  clearTimeout(waiting);
  shown.setAttribute("aria-busy", "true");
  waiting = setTimeout(() => {
    history.replaceState(null, "", link() ?? location.pathname);
    show();
  }, WAIT);
}

function open() {
  const said = new URLSearchParams(location.hash.slice(1));
  text.value = said.get("text") ?? "";
  special.checked = said.has("special");
  shown.setAttribute("aria-busy", "true");
  show();
}

async function explainTile(tile) {
  const side = Number(tile.closest(".panel").dataset.side);
  try {
    const answer = await ask("/merges", { ...current, side, token: Number(tile.dataset.at) });
    find("answer").replaceChildren(...answer);
    if (!merges.open) merges.showModal();
  } catch (error) {
    explain(error);
  }
}

function move(tile, key) {
  const tiles = [...tile.closest(".flow").querySelectorAll(".tile")];
  const rightToLeft = getComputedStyle(tile.closest(".line")).direction === "rtl";
  const step = (key === "ArrowRight") === rightToLeft ? -1 : 1;
  const place = { Home: 0, End: tiles.length - 1 }[key] ?? tiles.indexOf(tile) + step;
  const next = tiles[Math.max(0, Math.min(tiles.length - 1, place))];
  tile.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

async function copyIds(button) {
  const ids = [...button.closest(".panel").querySelectorAll(".tile small")];
  try {
    await navigator.clipboard.writeText(`[${ids.map((id) => id.textContent).join(", ")}]`);
    say("The ids are copied.");
  } catch {
    say("The browser does not let this page copy.", true);
  }
}

shown.addEventListener("click", (event) => {
  const copy = event.target.closest(".copy");
  if (copy) copyIds(copy);
  const tile = event.target.closest(".tile");
  if (tile) explainTile(tile);
});
shown.addEventListener("keydown", (event) => {
  const tile = event.target.closest(".tile");
  if (!tile || event.altKey || event.ctrlKey || event.metaKey) return;
  if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) move(tile, event.key);
  else if (event.key === "Enter" || event.key === " ") explainTile(tile);
  else return;
  event.preventDefault();
});
find("close").addEventListener("click", () => merges.close());
find("form").addEventListener("submit", (event) => event.preventDefault());
find("share").addEventListener("click", async () => {
  const made = link();
  if (made === null) {
    say("The text is too long for a link.", true);
    return;
  }
  try {
    await navigator.clipboard.writeText(new URL(made, location.href).href);
    say("The link is copied.");
  } catch {
    say("Copy the link from the address bar.");
  }
});
text.addEventListener("input", changed);
special.addEventListener("change", changed);
addEventListener("hashchange", open);
open();
