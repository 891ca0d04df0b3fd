"use strict";

const WAIT = 120; // milliseconds without a keystroke before tokens are asked for
const QUIET = 1000; // milliseconds without a keystroke before their number is read out
const LONGEST = 6000; // characters of a link that every browser takes
const find = (id) => document.getElementById(id);
const text = find("text"), special = find("special"), chat = find("chat"), said = find("said");
const shown = find("shown"), merges = find("merges"), add = find("add");
const known = JSON.parse(add.dataset.known); // labels of all tokenizers of the program, by number
const given = [...Array(Number(add.dataset.given)).keys()]; // those of its command
let sides = given; // those that are shown
let current = null; // what the panels show
let waiting = 0, quiet = 0; // timers
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
  return found;
}

function parsed(found) {
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
  const asked = { text: text.value, special: special.checked, chat: chat.checked, sides };
  try {
    const panels = parsed(await ask("/tokens", asked));
    light(null);
    shown.replaceChildren(...panels);
    shown.classList.remove("stale");
    current = asked;
    spread(shown);
    say("");
    clearTimeout(quiet);
    quiet = setTimeout(count, QUIET);
  } catch (error) {
    shown.classList.add("stale");
    explain(error);
  }
  running = false;
  if (again) show();
  else if (!waiting) shown.setAttribute("aria-busy", "false");
}

// For those who hear the page: how many tokens there are.
function count() {
  const counted = [...shown.querySelectorAll(".panel")].map((panel) => {
    const number = panel.querySelector(".counts dd");
    const name = panel.querySelector("h2").textContent;
    return number ? `${name}: ${number.textContent} tokens` : `${name}: ${panel.querySelector(".warning").textContent}`;
  });
  find("counted").textContent = counted.join("; ");
}

function asGiven() {
  return sides.length === given.length && sides.every((side, at) => side === given[at]);
}

function link() {
  const said = new URLSearchParams();
  if (text.value) said.set("text", text.value);
  if (text.value && special.checked) said.set("special", "1");
  if (text.value && chat.checked) said.set("chat", "1");
  if (!asGiven()) for (const side of sides) said.append("in", known[side]);
  const made = `#${said}`;
  if (made === "#") return location.pathname;
  return made.length > LONGEST ? null : made;
}

function chatting() {
  find("injection").hidden = !chat.checked;
  find("legend").hidden = sides.length === 1 && !chat.checked;
  special.disabled = chat.checked;
  special.parentElement.title = chat.checked ? "In a chat, special tokens always are tokens." : "";
}

function changed() {
  clearTimeout(waiting);
  shown.setAttribute("aria-busy", "true");
  text.placeholder = chat.checked ? 'Paste a chat: [{"role": "user", "content": "..."}], or lines that begin with user: or assistant:' : "Type or paste a text";
  chatting();
  waiting = setTimeout(() => {
    history.replaceState(null, "", link() ?? location.pathname);
    show();
  }, WAIT);
}

// A link may name a tokenizer that is not here. Nothing is loaded that nobody asked for.
async function open() {
  const said = new URLSearchParams(location.hash.slice(1));
  text.value = said.get("text") ?? (said.size ? "" : text.dataset.sample);
  special.checked = said.has("special");
  chat.checked = said.has("chat");
  const named = [...new Set(said.getAll("in"))];
  const found = named.map((label) => known.indexOf(label)).filter((side) => side >= 0);
  const missing = named.filter((label) => !known.includes(label));
  sides = found.length ? found : given;
  chatting();
  shown.setAttribute("aria-busy", "true");
  await show();
  if (missing.length) {
    const label = missing[0].match(/^(.*?)(?: \(([^()]*)\))?$/);
    if (find("source")) {
      find("source").value = label[1];
      find("preset").value = label[2] ?? "";
    }
    say(`The link also shows ${missing.join(", ")}, which is not loaded here.`, true);
  }
}

async function addTokenizer(event) {
  event.preventDefault();
  const button = find("adding");
  button.disabled = true;
  say("Loading");
  try {
    const body = { source: find("source").value, preset: find("preset").value };
    const { side, label } = JSON.parse(await ask("/add", body));
    known[side] = label;
    if (!sides.includes(side)) sides = [...sides, side];
    find("source").value = find("preset").value = "";
    changed();
  } catch (error) {
    explain(error);
  }
  button.disabled = false;
}

function remove(panel) {
  sides = sides.filter((side) => side !== Number(panel.dataset.side));
  changed();
  find("panels").focus();
}

// The same part of the text in the other panels, below the merges of a token.
function elsewhere(tile) {
  const found = new Map();
  for (const other of twins(tile)) {
    const panel = other.closest(".panel");
    found.set(panel, [...(found.get(panel) ?? []), other]);
  }
  const rows = [...found].map(([panel, tiles]) => {
    const row = document.createElement("p"), name = document.createElement("span");
    name.className = "label";
    name.append(...[...panel.querySelector("h2").childNodes].map((node) => node.cloneNode(true)));
    row.append(name, " ", ...tiles.flatMap((other) => {
      const copy = document.createElement("span");
      copy.className = "tile";
      copy.append(...[...other.childNodes].map((node) => node.cloneNode(true)));
      copy.lastChild.before(" ");
      copy.classList.add(`c${placeOf(other) % 6}`);
      return [copy, " "];
    }));
    return row;
  });
  if (rows.length) {
    const head = document.createElement("h3");
    head.textContent = "The same part of the text";
    rows.unshift(head);
  }
  return rows.flatMap((row) => [row, " "]); // else copied words are glued
}

async function explainTile(tile) {
  const side = Number(tile.closest(".panel").dataset.side);
  try {
    const answer = await ask("/merges", { ...current, side, token: placeOf(tile) });
    find("answer").replaceChildren(...parsed(answer));
    find("elsewhere").replaceChildren(...elsewhere(tile));
    if (!merges.open) merges.showModal();
  } catch (error) {
    explain(error);
  }
}

shown.addEventListener("click", (event) => {
  const removed = event.target.closest(".remove");
  if (removed) remove(removed.closest(".panel"));
  const tile = event.target.closest(TILE);
  if (tile) explainTile(tile);
});
shown.addEventListener("keydown", (event) => {
  const tile = event.target.closest(TILE);
  if (!tile || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key !== "Enter" && event.key !== " ") return;
  explainTile(tile);
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
if (find("adding")) add.addEventListener("submit", addTokenizer);
text.addEventListener("input", changed);
// Whoever begins to type writes over the sample.
for (const event of ["focus", "click"]) {
  text.addEventListener(event, () => { if (text.value === text.dataset.sample) text.select(); });
}
special.addEventListener("change", changed);
chat.addEventListener("change", changed);
addEventListener("hashchange", open);
open();
