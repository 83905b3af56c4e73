// The page of `leastnoise design`. `texts` holds a text, or a truth value, for each field of the
// form that form.py describes. Each change asks the server for a plan. Names and messages are shown
// as text, never as HTML.
"use strict";

const byId = (id) => document.getElementById(id);
const WAIT = 250; // milliseconds after the last change
let form, texts;
let columns = [];
let ids = 0;
let asking = new AbortController();
let timer, plan;

function make(tag, properties = {}, ...children) {
  const { data, ...others } = properties;
  const element = Object.assign(document.createElement(tag), others);
  Object.assign(element.dataset, data);
  element.append(...children);
  return element;
}

async function post(name, body, signal) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, signal };
  const response = await fetch(name, { ...options, body: JSON.stringify({ texts, ...body }) });
  return response.ok ? response.json() : { error: await response.text() };
}

// Fields. `values` is the part of `texts` that a field belongs to, and `within` its key in errors.

function field(about, values, within) {
  const id = `field-${(ids += 1)}`;
  const input = control(about, values, id);
  input.dataset.key = within ? `${within}.${about.name}` : about.name;
  input.setAttribute("aria-describedby", `${id}-problem`);
  const read = () => (about.kind === "flag" ? input.checked : input.value);
  input.addEventListener("input", () => {
    values[about.name] = read();
    change(input.dataset.key);
  });
  const name = make("code", { textContent: about.shown ?? about.name });
  const label = make("label", { htmlFor: id }, `${about.description} `, name);
  if (about.kind === "flag") label.prepend(input, " ");
  const rest = about.kind === "flag" ? [] : [input, ...suggestions(about, input)];
  return make("div", { className: "field" }, label, ...rest, problemOf(id));
}

const problemOf = (id) => make("p", { className: "problem", id: `${id}-problem` });

function control(about, values, id) {
  const value = values[about.name] ?? "";
  if (about.kind === "flag") return make("input", { type: "checkbox", id, checked: value === true });
  if (about.kind === "choice") return choose(["", ...about.choices], value, id);
  const listed = { source: "files", unit: "columns" }[about.name];
  const common = { id, value, placeholder: about.example, spellcheck: false };
  if (!listed && about.kind === "text") return make("textarea", { ...common, rows: 1 });
  const input = make("input", { type: "text", ...common });
  if (listed) input.setAttribute("list", listed);
  return input;
}

const SHOWN = new Map([["", "–"], ["\t", "tab"]]);

function choose(choices, value, id = "") {
  const option = (choice) =>
    make("option", { value: choice, textContent: SHOWN.get(choice) ?? choice });
  const select = make("select", { id }, ...choices.map(option));
  select.value = value;
  return select;
}

// Below a list of statistics or columns: choose one, and add it to the text.
function suggestions(about, input) {
  if (!["statistics", "group_by"].includes(about.name)) return [];
  const names = make("select", { ariaLabel: "Column", className: "columns" });
  fillColumns(names);
  const forms = choose(about.name === "statistics" ? form.statistics : ["column"], "");
  forms.selectedIndex = 0;
  forms.ariaLabel = "Statistic";
  const add = () => {
    const item = forms.value.replaceAll("column", () => names.value);
    const plain = /^[\w.() -]+$/u.test(item) || item === forms.value;
    const before = input.value.trim().replace(/,$/, "");
    input.value = (before && `${before}, `) + (plain ? item : JSON.stringify(item));
    input.dispatchEvent(new Event("input"));
  };
  const button = make("button", { type: "button", textContent: "Add", onclick: add });
  const chosen = about.name === "statistics" ? [forms, names] : [names];
  return [make("div", { className: "add" }, ...chosen, button)];
}

function fillColumns(select) {
  const option = ({ name, shown }) => make("option", { value: name, textContent: shown });
  select.replaceChildren(...columns.map(option));
}

// Sections.

function fields(section, values, within) {
  const shown = section.fields.filter(({ kind }) => kind !== "types");
  const [first, more] = [true, false].map((is) => shown.filter((about) => about.first === is));
  const draw = (about) => field(about, values, within);
  if (!first.length) return more.map(draw);
  return [...first.map(draw), ...(more.length ? [fold("More", more.map(draw))] : [])];
}

function fold(title, children, note = "") {
  const summary = make("summary", {}, title, make("small", { textContent: note }));
  const details = make("details", {}, summary, ...children);
  const filled = (input) => (input.type === "checkbox" ? input.checked : input.value !== "");
  const given = details.querySelectorAll(".field input, .field select, .field textarea");
  details.open = [...given].some(filled);
  return details;
}

function drawSection(section) {
  const { name, kind, description } = section;
  const legend = make("legend", { textContent: description.replace(/[.]$/, "") });
  const box = make("fieldset", { id: `section-${name}` }, legend);
  if (kind === "one") {
    texts[name] ??= {};
    const inner = fields(section, texts[name], name);
    box.append(...(section.fields.some(({ first }) => first) ? inner : [fold("Fill in", inner)]));
    if (name === "data") box.append(make("p", { id: "hint" }), make("div", { id: "types" }));
  } else if (kind === "lines") {
    const about = { ...section, kind: "text", description: "One line of TOML for each" };
    box.append(fold("Fill in", [field(about, texts, "")]));
  } else {
    texts[name] ??= kind === "many" ? [] : {};
    box.append(make("div", { id: `items-${name}` }));
    if (kind === "many") {
      const add = () => {
        texts[name].push({ name: `table${texts[name].length + 1}` });
        drawQueries(section);
        change(name);
      };
      box.append(make("button", { type: "button", textContent: "Add a query", onclick: add }));
    }
  }
  return box;
}

function drawQueries(section) {
  const items = texts[section.name].map((values, index) => {
    const remove = () => {
      texts[section.name].splice(index, 1);
      drawQueries(section);
      change(section.name);
      byId(`section-${section.name}`).querySelector(":scope > button").focus();
    };
    const title = `Query ${index + 1}`;
    const button = make("button", { type: "button", textContent: `Remove ${title}`, onclick: remove });
    const inner = fields(section, values, `${section.name}[${index}]`);
    return make("fieldset", {}, make("legend", { textContent: title }), ...inner, button);
  });
  byId(`items-${section.name}`).replaceChildren(...items);
}

function drawColumns(section) {
  const names = new Set(columns.map(({ name }) => name));
  const filled = ([name, values]) => !names.has(name) && Object.values(values).some(Boolean);
  const others = Object.entries(texts.columns).filter(filled).map(([name]) => ({ name, shown: name }));
  const items = [...columns, ...others].map(({ name, shown, kind }) => {
    const values = (texts.columns[name] ??= {});
    return fold(shown, fields(section, values, `columns.${name}`), kind && ` ${kind}`);
  });
  drawTypes(names);
  byId(`items-${section.name}`).replaceChildren(...items);
}

function drawTypes(names) {
  const { types } = texts.data;
  for (const name of Object.keys(types)) if (names.size && !names.has(name)) delete types[name];
  const type = ({ name, shown, types: choices }) =>
    field({ name, shown, kind: "choice", choices, description: "Type of" }, types, "data.types");
  const shown = columns.filter(({ name, needed }) => needed || types[name]);
  byId("types").replaceChildren(...shown.map(type));
}

// Plans.

function change(key) {
  clearTimeout(timer);
  timer = setTimeout(ask, WAIT);
  plan = undefined; // nobody runs what the page doesn't show
  byId("run").disabled = true;
  byId("done").textContent = "";
  byId("failure").hidden = true;
  if (key === "privacy.epsilon") moveSlider();
}

async function ask() {
  asking.abort();
  asking = new AbortController();
  const aside = document.querySelector("aside");
  aside.classList.add("waiting");
  byId("state").textContent = "Planning …";
  let answer;
  try {
    answer = await post("plan", {}, asking.signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    answer = { error: "No answer. Is leastnoise design still running?" };
  }
  if (answer.newer) return;
  aside.classList.remove("waiting");
  show(answer);
}

function show(answer) {
  plan = answer.plan;
  byId("run").disabled = !plan;
  if (answer.columns) showColumns(answer);
  byId("toml").textContent = answer.toml ?? "";
  byId("error").hidden = !answer.error;
  byId("error").textContent = answer.error ?? "";
  byId("state").textContent = plan ? plan.guarantee : "There is no plan yet.";
  byId("plan").replaceChildren(...(plan ? drawPlan(plan) : []));
  showProblems(answer.problems ?? []);
}

function showColumns({ columns: names, hint, delimiter }) {
  byId("hint").textContent = hint ?? "";
  if (JSON.stringify(names) !== JSON.stringify(columns)) {
    columns = names;
    const option = ({ name, shown }) => make("option", { value: name, label: shown });
    byId("columns").replaceChildren(...["row"].map((name) => option({ name, shown: name })),
      ...columns.map(option));
    drawColumns(form.sections.find(({ kind }) => kind === "named"));
    document.querySelectorAll("select.columns").forEach(fillColumns);
  }
  const select = document.querySelector('[data-key="data.delimiter"]');
  if (delimiter && select && !select.value) {
    select.value = delimiter;
    select.closest("details").open = true;
    select.dispatchEvent(new Event("input"));
  }
}

function drawPlan({ heads, rows, sentences }) {
  const cell = (tag, text, scope) => make(tag, { textContent: text, ...(scope && { scope }) });
  const head = make("tr", {}, ...heads.map((text) => cell("th", text, "col")));
  const line = ([first, ...rest]) =>
    make("tr", {}, cell("th", first, "row"), ...rest.map((text) => cell("td", text)));
  const caption = make("caption", { textContent: "± is half of an interval that holds 95 % of the noise" });
  const table = make("table", {}, caption, make("thead", {}, head),
    make("tbody", {}, ...rows.map(line)));
  const list = make("ul", {}, ...sentences.map((text) => make("li", { textContent: text })));
  const wide = make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "Errors" });
  wide.append(table);
  return [wide, list];
}

// Each problem goes to the field with the longest key that it begins with; the list has them all.
function showProblems(problems) {
  const inputs = [...document.querySelectorAll("[data-key]")];
  for (const input of inputs) {
    input.removeAttribute("aria-invalid");
    byId(`${input.id}-problem`).textContent = "";
  }
  for (const [key, message] of problems) {
    const fits = ({ dataset }) =>
      key === dataset.key || key.startsWith(`${dataset.key}.`) || key.startsWith(`${dataset.key}[`);
    const [input] = inputs.filter(fits).sort((a, b) => b.dataset.key.length - a.dataset.key.length);
    if (!input) continue;
    input.setAttribute("aria-invalid", "true");
    byId(`${input.id}-problem`).append(message, " ");
  }
}

function moveSlider() {
  const epsilon = texts.privacy.epsilon ?? "";
  byId("epsilon").textContent = epsilon;
  if (Number(epsilon) > 0) byId("slider").value = Math.log10(Number(epsilon));
}

byId("slider").addEventListener("input", ({ target }) => {
  const input = document.querySelector('[data-key="privacy.epsilon"]');
  input.value = String(Number((10 ** Number(target.value)).toPrecision(2)));
  texts.privacy.epsilon = input.value;
  byId("epsilon").textContent = input.value;
  change("slider");
});

// Saving and running.

function fail(text) {
  byId("failure").textContent = text;
  byId("failure").hidden = false;
}

async function save() {
  let answer = await post("save", { sure: false });
  if (answer.exists) {
    const question = `${form.spec} exists already. Replace it? Its comments are lost.`;
    if (!confirm(question)) return false;
    answer = await post("save", { sure: true });
  }
  if (answer.error) fail(answer.error);
  return !answer.error;
}

async function run() {
  const { weak } = plan;
  const question = "Run the release? Each run draws fresh noise and spends the whole budget again.";
  if (!confirm([question, ...weak].join("\n\n")) || !(await save())) return;
  byId("done").textContent = "The release is running …";
  const answer = await post("run", { sure: weak.length > 0 });
  if (answer.error) {
    byId("done").textContent = "";
    fail(answer.error);
    return;
  }
  const href = `published/${encodeURIComponent(answer.report)}`;
  const link = make("a", { href, target: "_blank", rel: "noreferrer", textContent: "Open the report" });
  const check = `Written to ${answer.path}. Check it with: leastnoise verify ${answer.path}. `;
  byId("done").replaceChildren(check, link);
}

async function press(action, done) {
  const buttons = [byId("save"), byId("run")];
  for (const button of buttons) button.disabled = true;
  byId("done").textContent = "";
  byId("failure").hidden = true;
  try {
    if (await action()) byId("done").textContent = done;
  } catch {
    fail("No answer. Is leastnoise design still running?");
  }
  byId("save").disabled = false;
  byId("run").disabled = !plan;
}

// A table by names of columns, of which any may be "__proto__".
const byName = (values) => Object.assign(Object.create(null), values);

async function start() {
  form = await (await fetch("form")).json();
  ({ texts } = form);
  texts.columns = byName(texts.columns);
  texts.data = { ...texts.data, types: byName(texts.data?.types) };
  byId("spec").textContent = form.spec;
  byId("files").replaceChildren(...form.files.map((name) => make("option", { value: name })));
  byId("form").append(...form.sections.map(drawSection));
  drawQueries(form.sections.find(({ kind }) => kind === "many"));
  drawColumns(form.sections.find(({ kind }) => kind === "named"));
  byId("form").addEventListener("submit", (event) => event.preventDefault());
  byId("save").addEventListener("click", () => press(save, `Saved ${form.spec}.`));
  byId("run").addEventListener("click", () => press(run, ""));
  moveSlider();
  ask();
}

start();
