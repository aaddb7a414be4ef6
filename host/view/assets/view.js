"use strict";
// What pages can't do without a script: keys, parts that load later, runs that grow, copying.
//
// Everything that is put on a page comes from our own server as HTML that it has escaped; nothing
// here makes markup of a text.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  const page = async (address) => {
    const answer = await fetch(address, { credentials: "same-origin" });
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  // Parts that take longer than a page may.
  const later = (within) => {
    for (const place of all("[data-load]", within)) {
      const address = place.dataset.load;
      place.removeAttribute("data-load");
      page(address).then((loaded) => {
        const parts = [...loaded.body.childNodes];
        place.replaceWith(...parts);
        parts.filter((part) => part.dataset && "again" in part.dataset).forEach((part) => again(part, address));
      }).catch(() => { place.textContent = "This part could not be loaded."; });
    }
  };
  // Parts that say that something is on its way.
  const again = (place, address) => setTimeout(() => {
    place.dataset.load = address;
    later(place.parentElement ?? document);
  }, 1500);
  later(document);
  if (one("main .waiting[data-again]")) setTimeout(() => location.reload(), 1500);
  for (const place of all("#figures [data-again]")) again(place.parentElement, location.pathname + "/figures");

  // A run that goes on: its figures as they come, its cases every few seconds.
  const growing = one("[data-events]");
  if (growing) {
    const events = new EventSource(growing.dataset.events);
    let fresh = Date.now();
    const show = (event) => {
      const said = JSON.parse(event.data);
      for (const figure of all("[data-figure]", growing)) figure.textContent = said[figure.dataset.figure] ?? "–";
      growing.querySelector("progress").value = said.share ?? 0;
    };
    const renew = async () => {
      const loaded = await page(location.href);
      for (const id of ["figures", "cases"]) {
        const [old, now] = [document.getElementById(id), loaded.getElementById(id)];
        if (!old || !now || old.contains(document.activeElement)) continue;
        const table = old.querySelector(".tall");
        const at = table ? [table.scrollLeft, table.scrollTop] : null;
        old.replaceWith(now);
        if (at && now.querySelector(".tall")) now.querySelector(".tall").scrollTo(...at);
        later(now);
      }
    };
    events.addEventListener("grown", (event) => {
      show(event);
      if (Date.now() - fresh > 3000) { fresh = Date.now(); renew(); }
    });
    events.addEventListener("lanes", (event) => {
      const place = document.getElementById("lanes");
      const made = new DOMParser().parseFromString(JSON.parse(event.data).charts, "text/html");
      if (!place.contains(document.activeElement)) place.replaceChildren(...made.body.childNodes);
    });
    events.addEventListener("end", () => { events.close(); location.reload(); });
  }

  // A list with a run that goes on is renewed while nobody does anything in it.
  if (one("table.runs .state.running")) setInterval(() => {
    if (document.activeElement === document.body && !one("table.runs :checked, table.runs details[open]")) location.reload();
  }, 4000);

  // Addresses say only what was asked for.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.ask && !confirm(form.dataset.ask)) { event.preventDefault(); return; }
    if (form.method !== "get") return;
    for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
    setTimeout(() => { for (const field of form.elements) field.disabled = false; });
  });
  document.addEventListener("click", (event) => {
    const copied = event.target.closest("[data-copy]");
    if (!copied) return;
    navigator.clipboard.writeText(copied.dataset.copy).then(() => {
      copied.textContent = "Copied";
      setTimeout(() => { copied.textContent = "Copy"; }, 1500);
    });
  });

  // What scrolls can be reached by keys.
  const reach = () => { for (const pre of all("pre")) if (pre.scrollHeight > pre.clientHeight + 1) pre.tabIndex = 0; };
  reach();
  document.addEventListener("toggle", reach, true);

  // Raw or rendered: kept while the window is open.
  const raw = (is) => { document.body.classList.toggle("is-raw", is); sessionStorage.setItem("raw", is ? "1" : ""); };
  raw(sessionStorage.getItem("raw") === "1");

  // Widths of columns are in the address, like all that a page shows.
  const sizes = all("[data-size]");
  for (const size of sizes) if (size.dataset.width) size.style.width = `${size.dataset.width}px`;
  const keepWidth = (size) => {
    const [column, pixels] = [size.dataset.size, Math.round(size.offsetWidth)];
    if (Number(size.dataset.width) === pixels) return;
    size.dataset.width = pixels;
    const widened = (address) => {
      const fields = address.searchParams;
      const others = fields.getAll("width").filter((it) => !it.startsWith(`${column}:`));
      fields.delete("width");
      for (const width of [...others, `${column}:${pixels}`]) fields.append("width", width);
      return address;
    };
    const here = widened(new URL(location));
    history.replaceState(null, "", here);
    for (const link of all("#cases a[href]")) if (link.search || link.pathname === location.pathname) link.href = widened(new URL(link.href));
    const form = one("form.filters");
    all("input[name=width]", form).forEach((field) => field.remove());
    for (const value of here.searchParams.getAll("width")) {
      const field = Object.assign(document.createElement("input"), { type: "hidden", name: "width", value });
      form.append(field);
    }
  };
  if (one("form.filters")) {
    const due = new Map();
    // What somebody widens has a width of its own; paper and windows change all columns, and are nobody's choice.
    const drawn = new Map(sizes.map((size) => [size, size.style.width]));
    const watch = new ResizeObserver((changes) => {
      for (const { target } of changes) {
        if (drawn.get(target) === target.style.width) continue;
        drawn.set(target, target.style.width);
        clearTimeout(due.get(target));
        due.set(target, setTimeout(() => keepWidth(target), 200));
      }
    });
    sizes.forEach((size) => watch.observe(size));
  }
  const widen = (by) => {
    const cell = document.activeElement?.closest("td.cell");
    const size = cell?.closest("table").tHead?.rows[0].cells[cell.cellIndex]?.querySelector("[data-size]");
    if (size) size.style.width = `${size.offsetWidth + by}px`;
  };

  let at = -1;
  const step = (by) => {
    const rows = all(".row");
    if (!rows.length) return one(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
    rows[at]?.classList.remove("at");
    at = Math.min(Math.max(at + by, 0), rows.length - 1);
    rows[at].classList.add("at");
    rows[at].scrollIntoView({ block: "nearest" });
    // Of a test whose cells are not all wanted, one that is.
    (rows[at].querySelector(".cell:not(.other) a") ?? rows[at].querySelector("a"))?.focus({ preventScroll: true });
  };
  const thumb = (which) => {
    const field = one(`input[name=thumb][value=${which}]`);
    if (field) { field.checked = true; field.form.requestSubmit(); }
  };
  const keys = {
    "/": () => one("#search")?.focus(),
    "?": () => one("#keys").showModal(),
    j: () => step(1), k: () => step(-1),
    n: () => one("a[rel=next]")?.click(), p: () => one("a[rel=prev]")?.click(),
    u: () => one("a[rel=up]")?.click(),
    r: () => raw(!document.body.classList.contains("is-raw")),
    x: () => all(".row")[at]?.querySelector("input[type=checkbox]")?.click(),
    c: () => one("#compare button, [data-compare]")?.click(),
    "<": () => widen(-40), ">": () => widen(40),
    "+": () => thumb("up"), "-": () => thumb("down"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    if (event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select")) return;
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  for (const hint of all(".keys")) hint.addEventListener("click", () => one("#keys").showModal());
})();
