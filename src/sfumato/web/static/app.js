"use strict";
// Our own small script. Every page works without it, except uploads and progress.

const problem = (text) => {
  const box = document.getElementById("problem");
  box.textContent = text;
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
};

const send = async (method, address, body, type) => {
  const headers = { accept: "application/json" };
  if (type) headers["content-type"] = type;
  const answer = await fetch(address, { method, body, headers, credentials: "same-origin" });
  const data = await answer.json().catch(() => ({ ok: false, message: `The server answered ${answer.status}.` }));
  if (!data.ok) throw new Error([data.message, data.hint].filter(Boolean).join(" "));
  return data;
};

// Files: the body of the request is the file, so that nothing is held in memory.
const upload = (file) => {
  const drop = document.getElementById("drop");
  if (file.size > Number(drop.dataset.limit)) return problem(`${file.name} is larger than the limit of an upload.`);
  const bar = document.getElementById("upload");
  bar.hidden = false;
  const request = new XMLHttpRequest();
  request.open("PUT", `/upload?name=${encodeURIComponent(file.name)}`);
  request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = 100 * event.loaded / event.total; });
  request.addEventListener("load", () => {
    let data = {};
    try { data = JSON.parse(request.responseText); } catch { data = { ok: false, message: `The server answered ${request.status}.` }; }
    if (data.ok) location.assign(data.next);
    else { bar.hidden = true; problem([data.message, data.hint].filter(Boolean).join(" ")); }
  });
  request.addEventListener("error", () => { bar.hidden = true; problem("The upload was cut off."); });
  request.send(file);
};

const dropZone = document.getElementById("drop");
if (dropZone) {
  document.getElementById("pick").addEventListener("change", (event) => { if (event.target.files[0]) upload(event.target.files[0]); });
  for (const name of ["dragenter", "dragover"]) dropZone.addEventListener(name, (event) => { event.preventDefault(); dropZone.classList.add("over"); });
  for (const name of ["dragleave", "drop"]) dropZone.addEventListener(name, () => dropZone.classList.remove("over"));
  dropZone.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]); });
}

// What is being worked out: ask for the page's JSON until it is there.
const waiting = document.querySelector('[data-wait="yes"]');
if (waiting) {
  const run = waiting.dataset.run;
  const address = run ? `${location.pathname.split("/").slice(0, 3).join("/")}/runs/${run}.json` : `${location.pathname}.json${location.search}`;
  const unfinished = (data) => {
    if (data.run && data.run.state === "running") return data.run;
    if ("look" in data && data.look === null) return {};
    if ("checked" in data && data.checked === null) return {};
    if (data.ask && data.count === null) return {};
    if ("plans" in data && data.plans === null) return {};
    if ("cannot" in data && data.cannot === null) return {};
    return null;
  };
  // A page loaded anew would lose what is dragged, and would cancel a form or a link on its way.
  let left = 0;
  const leaving = () => { left = Date.now(); };
  document.addEventListener("submit", leaving);
  document.addEventListener("click", (event) => { if (event.target.closest("a[href]")) leaving(); });
  const busy = () => "dragging" in document.body.dataset || Date.now() - left < 10_000;
  // It would also lose what was typed or ticked since: then the reader says when.
  let touched = false;
  document.addEventListener("input", () => { touched = true; });
  const ready = () => {
    if (!touched) { location.reload(); return; }
    const button = document.createElement("button");
    button.className = "quiet";
    button.textContent = "Ready: show it";
    button.addEventListener("click", () => location.reload());
    const note = document.createElement("p");
    note.append(button, " What you have entered on this page and not saved is lost.");
    waiting.setAttribute("data-wait", "ready");
    waiting.replaceChildren(...(waiting.tagName === "P" ? note.childNodes : [note]));
  };
  const tick = async () => {
    if (busy()) { setTimeout(tick, 700); return; }
    let rest = null;
    try { rest = unfinished(await (await fetch(address, { credentials: "same-origin" })).json()); }
    catch { setTimeout(tick, 2000); return; }
    if (rest === null && busy()) { setTimeout(tick, 700); return; }
    if (rest === null) { ready(); return; }
    const since = document.getElementById("since");
    if (since && rest.seconds) since.textContent = `${rest.seconds} s so far.`;
    if (rest.progress) {
      const bar = document.querySelector(".running progress");
      if (bar && bar.hasAttribute("max")) bar.value = rest.progress.percent;
      const set = (id, text) => { const place = document.getElementById(id); if (place) place.textContent = text; };
      set("percent", `${rest.progress.percent} %`);
      set("left", rest.progress.left ? `about ${rest.progress.left} left` : "");
      set("doing", `${rest.progress.doing || "starting: the table is read"} (${rest.seconds} s so far)`);
    }
    setTimeout(tick, 700);
  };
  setTimeout(tick, 500);
}

// Columns: find by name, or by a range such as Q01-Q40.
const filter = document.getElementById("filter");
if (filter) {
  const cards = [...document.querySelectorAll(".columns .column")];
  const fits = (name, wanted) => {
    const span = wanted.match(/^(.*?)(\d+)\s*-\s*(.*?)(\d+)$/);
    const found = name.match(/^(.*?)(\d+)$/);
    if (span && found && span[1].toLowerCase() === found[1].toLowerCase()) return Number(found[2]) >= Number(span[2]) && Number(found[2]) <= Number(span[4]);
    return name.toLowerCase().includes(wanted.toLowerCase());
  };
  filter.addEventListener("input", () => { for (const card of cards) card.hidden = !fits(card.dataset.name, filter.value.trim()); });
  filter.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  // Enter would take the first button of the form, which gives a role.
  for (const input of document.querySelectorAll("#many .ranges input")) input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); document.querySelector("#many .ranges button").click(); }
  });
  const tell = () => {
    const many = cards.filter((card) => card.querySelector('input[type="checkbox"]').checked).length;
    document.getElementById("chosen").textContent = many ? `${many} selected` : "";
  };
  for (const card of cards) card.addEventListener("change", tell);
  // What was looked for stays while the page is open; what was ticked comes back after a change of all of it.
  const looked = `sfumato columns ${location.pathname}`;
  const before = JSON.parse(sessionStorage.getItem(looked) || '{"text":"","ticked":[]}');
  const keep = (ticked) => sessionStorage.setItem(looked, JSON.stringify({ text: filter.value, ticked }));
  filter.addEventListener("input", () => keep([]));
  document.getElementById("many").addEventListener("submit", () => keep(cards.filter((card) => card.querySelector('input[type="checkbox"]').checked).map((card) => card.dataset.name)));
  if (before.text) { filter.value = before.text; filter.dispatchEvent(new Event("input")); }
  for (const card of cards) if (before.ticked.includes(card.dataset.name)) card.querySelector('input[type="checkbox"]').checked = true;
  keep([]);
  tell();
  document.getElementById("select-shown").addEventListener("click", () => {
    for (const card of cards) if (!card.hidden) card.querySelector('input[type="checkbox"]').checked = true;
    tell();
  });
}

// Groups: a value dragged into another bin is moved by the same form that the buttons use.
const grouping = document.getElementById("grouping");
if (grouping) {
  let dragged = null;
  grouping.addEventListener("dragstart", (event) => {
    const value = event.target.closest(".value");
    if (!value) return;
    dragged = value.dataset.value;
    document.body.dataset.dragging = "yes";
    event.dataTransfer.setData("text/plain", dragged);
    event.dataTransfer.effectAllowed = "move";
  });
  grouping.addEventListener("dragend", () => { delete document.body.dataset.dragging; });
  for (const bin of grouping.querySelectorAll(".bin")) {
    bin.addEventListener("dragover", (event) => { event.preventDefault(); bin.classList.add("over"); });
    bin.addEventListener("dragleave", () => bin.classList.remove("over"));
    bin.addEventListener("drop", async (event) => {
      event.preventDefault();
      bin.classList.remove("over");
      if (dragged === null) return;
      if (bin.dataset.group === "+") {  // a new group: its name is typed, then the form is sent
        for (const box of grouping.querySelectorAll('input[name="value"]')) if (box.value === dragged) box.checked = true;
        document.getElementById("to-group").value = "";
        document.getElementById("new-group").focus();
        return;
      }
      const fields = new URLSearchParams();
      const selected = [...grouping.querySelectorAll('input[name="value"]:checked')].map((one) => one.value);
      for (const value of selected.includes(dragged) ? selected : [dragged]) fields.append("value", value);
      if (bin.dataset.group) fields.append("group", bin.dataset.group);
      try { await send("POST", bin.dataset.group ? grouping.dataset.move : grouping.dataset.out, fields); location.reload(); }
      catch (error) { problem(error.message); }
    });
  }
}

for (const input of document.querySelectorAll("input[data-put]")) {
  input.addEventListener("change", async () => {
    try { location.assign((await send("PUT", input.dataset.put, input.files[0], "text/csv")).next); }
    catch (error) { problem(error.message); }
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}

for (const button of document.querySelectorAll("[data-fill]")) {
  button.addEventListener("click", () => {
    for (const [name, value] of Object.entries(JSON.parse(button.dataset.fill))) {
      const field = document.querySelector(`#policy [name="${name}"]`);
      if (field) field.value = value;
    }
  });
}

for (const table of document.querySelectorAll("table[data-sort]")) {
  table.querySelectorAll("thead th").forEach((head, at) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => { const cell = row.cells[at]; return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value); };
      const rows = [...table.tBodies[0].rows].sort((a, b) => { const [x, y] = [value(a), value(b)]; return (x > y ? 1 : x < y ? -1 : 0) * (up ? 1 : -1); });
      table.tBodies[0].append(...rows);
    });
  });
}

// The command shown is the one that the form would start: it follows the name of the folder, the format and the ticks.
for (const folder of document.querySelectorAll("input[data-in-command]")) {
  const line = document.getElementById("command");
  if (!line) continue;
  const words = line.textContent, was = folder.dataset.inCommand, form = folder.form;
  const follow = () => {
    let text = words;
    for (const box of form.querySelectorAll('input[type="checkbox"]')) {
      if (box.dataset.flag && box.checked) text += ` --${box.dataset.flag}`;
      if (box.name === "page" && !box.checked) text = text.replace(` --page page-${was}.html`, "");
      if (box.name === "against" && !box.checked) text = text.replace(` --against releases/${box.value} `, " ");
    }
    if (form.elements.format) text = text.replace(/ --format \w+/, ` --format ${form.elements.format.value}`);
    if (/^[A-Za-z0-9._-]+$/.test(folder.value)) {
      text = text.replaceAll(`releases/${was} `, `releases/${folder.value} `).replaceAll(`page-${was}.html`, `page-${folder.value}.html`);
    }
    line.textContent = text;
  };
  form.addEventListener("input", follow);
  form.addEventListener("change", follow);
}

for (const button of document.querySelectorAll("[data-print]")) button.addEventListener("click", () => window.print());

// A form that only chooses what is shown is sent when the choice changes; its button is for pages without script.
for (const form of document.querySelectorAll('form[data-submit="change"]')) {
  form.querySelector("select").addEventListener("change", () => form.requestSubmit());
  form.querySelector("button").hidden = true;
}

// A form that is refused comes back with the message: what was entered in it comes back with it.
const forms = [...document.forms];
const kept = "sfumato sent";
const sent = JSON.parse(sessionStorage.getItem(kept) || "null");
sessionStorage.removeItem(kept);
if (sent && sent.page === location.pathname && new URLSearchParams(location.search).has("wrong")) {
  const form = forms.find((one) => one.getAttribute("action") === sent.action && (one.id || "") === sent.id);
  for (const field of form ? form.elements : []) {
    if (!field.name || field.type === "hidden" || field.tagName === "BUTTON") continue;
    const texts = sent.fields.filter(([name]) => name === field.name).map(([, text]) => text);
    if (field.type === "checkbox" || field.type === "radio") field.checked = texts.includes(field.value);
    else if (texts.length === 1) field.value = texts[0];
    field.dispatchEvent(new Event("change", { bubbles: field.type === "checkbox" }));
    field.dispatchEvent(new Event("input", { bubbles: true }));  // entered, so that no reload takes it away
  }
}
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }  // a second click sends nothing
  const fields = [...new FormData(form)].filter(([, text]) => typeof text === "string");
  sessionStorage.setItem(kept, JSON.stringify({ page: location.pathname, action: form.getAttribute("action"), id: form.id || "", fields }));
  // Once it is on its way its buttons say so; the browser has read them by the next turn.
  const buttons = [...form.elements].filter((one) => one.tagName === "BUTTON" && !one.disabled);
  const words = event.submitter ? event.submitter.textContent : "";
  form.dataset.sent = "yes";
  setTimeout(() => {
    for (const button of buttons) button.disabled = true;
    if (event.submitter && event.submitter.dataset.busy) event.submitter.textContent = event.submitter.dataset.busy;
  });
  const again = () => {
    delete form.dataset.sent;
    for (const button of buttons) button.disabled = false;
    if (event.submitter && words) event.submitter.textContent = words;
  };
  setTimeout(again, 30_000);  // the server has not answered
  window.addEventListener("pageshow", (shown) => { if (shown.persisted) again(); }, { once: true });
});
