"use strict";

/** An element with attributes (functions are listeners, `text` its text) and children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "text") made.textContent = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Say something to screen readers. */
function say(text) {
  document.getElementById("said").textContent = text;
}

const button = (text, onClick, attributes = {}) => element("button", { type: "button", text, click: onClick, ...attributes });

/** Save a text or the content of a data: address as a file. */
function download(name, content) {
  const address = content.startsWith("data:") ? content : URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  element("a", { href: address, download: name }).click();
  if (address !== content) setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function csvOf(rows) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    getSelection().selectAllChildren(from); // a page from a file may have no clipboard
    document.execCommand("copy");
  }
  say("copied");
}

/** A window over the page; `items` are functions that fill it, one at a time, `[title, fill(node)]`. */
function openViewer(items, index) {
  const dialog = document.getElementById("viewer");
  const title = element("h2", { id: "viewer-title" });
  const body = element("div");
  const show = (step) => {
    index = (index + step + items.length) % items.length;
    title.textContent = items[index][0];
    body.replaceChildren();
    items[index][1](body);
  };
  const bar = element("div", { class: "bar" }, title, button("Close", () => dialog.close()));
  const turns = element("div", { class: "bar" }, button("← Previous", () => show(-1)), button("Next →", () => show(1)));
  dialog.replaceChildren(bar, body, ...(items.length > 1 ? [turns] : []));
  dialog.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && items.length > 1) show(step);
  };
  dialog.showModal();
  show(0);
}

function showImage(node, source, label, kind = "") {
  node.append(element("img", { src: source, alt: label, class: kind }));
}

/** Make the headings of a table buttons that sort it. */
function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const sort = () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      const isNumeric = heading.classList.contains("number");
      const key = (row) => row.cells[column].textContent.trim();
      const order = (a, b) => (isNumeric ? parseFloat(a) - parseFloat(b) : a.localeCompare(b, undefined, { numeric: true }));
      const full = rows.filter((row) => key(row) !== "").sort((a, b) => order(key(a), key(b)));
      const empty = rows.filter((row) => key(row) === ""); // stay last in either order
      table.tBodies[0].append(...(descending ? full.reverse() : full), ...empty);
    };
    heading.replaceChildren(button(heading.textContent, sort));
  });
}

/** Show what fits the filters: articles, and rows of the claims. */
function filter() {
  const form = document.getElementById("filters");
  const wanted = [...form.elements].filter((each) => each.tagName === "SELECT" && each.value);
  const fits = (node) =>
    wanted.every(({ name, value }) => (name === "verdict" ? JSON.parse(node.dataset.verdict).includes(value) : node.dataset[name] === value));
  const articles = [...document.querySelectorAll("article")];
  for (const node of [...articles, ...document.querySelectorAll("#claims tbody tr")]) node.hidden = !fits(node);
  const shown = articles.filter((node) => !node.hidden);
  for (const node of document.querySelectorAll("section.paper")) node.hidden = !shown.some((article) => article.dataset.paper === node.dataset.paper);
  document.getElementById("shown").textContent = `${shown.length} of ${articles.length} figures and tables`;
}

/** The system's colours, always light, always dark. */
function turnTheme(event) {
  const names = ["", "light", "dark"];
  const next = names[(names.indexOf(document.documentElement.dataset.theme ?? "") + 1) % 3];
  document.documentElement.dataset.theme = next;
  event.target.textContent = `Theme: ${next || "as the system"}`;
  redrawAll();
}

function prepareArticle(article) {
  const content = JSON.parse(article.querySelector("script.content").textContent);
  const figure = article.querySelector(".printed img");
  const command = article.querySelector(".command code");
  command.after(button("Copy", () => copy(command.textContent, command), { "aria-label": `Copy the command ${command.textContent}` }));
  const views = content.views.map(makeView);
  article.querySelector(".views").append(...views.map((view) => view.node));
  const rows = views.flatMap((view) => view.rows?.bind(view) ?? []);
  const downloads = element("p", { class: "bar" }, button("Download the table (CSV)", () => download(`${content.name}.csv`, content.table)));
  if (figure) {
    const enlarge = () => openViewer([[figure.alt, (node) => showImage(node, figure.src, figure.alt, "printed-image")]], 0);
    figure.closest("figure").after(button("Full size", enlarge, { "aria-label": `Full size: ${figure.alt}` }));
    downloads.append(button("Download the figure", () => download(`${content.name}.webp`, figure.src)));
  }
  if (rows.length) {
    const save = () => download(`${content.name}-curves.csv`, csvOf([["panel", "metric", "series", "seed", "x", "value"], ...rows.flatMap((each) => each())]));
    downloads.append(button("Download the curves (CSV)", save));
  }
  article.querySelector(".made").before(downloads);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  const form = document.getElementById("filters");
  if (document.querySelector("article")) {
    form.hidden = false;
    form.addEventListener("change", filter);
    filter();
  }
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", turnTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  document.querySelectorAll("article").forEach(prepareArticle);
});
