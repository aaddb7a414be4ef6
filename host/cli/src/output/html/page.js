"use strict";
// The matrix of cases: filter, search, pages, and one case in full.
//
// Whatever comes from the data is put on the page as text (textContent), never as markup. An answer that is
// Markdown has a template, which the program has made harmless; r shows the answer as it is.
// Everything works from the keyboard: cells are buttons, a case is a dialog (Escape closes it,
// arrows go to the next one), and / jumps to the search.
(() => {
  const TESTS_ON_A_PAGE = 50;
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);

  // What did not pass may stand first.
  data.cases.sort((one, other) => one.test - other.test || one.column - other.column);
  // Rows of the matrix: the cases of one test, by column.
  const tests = [];
  for (const entry of data.cases) {
    let row = tests[tests.length - 1];
    if (!row || row.test !== entry.test) {
      row = { test: entry.test, first: entry, cells: new Array(data.columns.length).fill(null) };
      tests.push(row);
    }
    row.cells[entry.column] = entry;
  }
  const state = { found: tests, page: 0, open: -1, shown: [] };

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined && text !== null) made.textContent = text;
    return made;
  };

  // What the search looks through; made when it is first needed, since most cases never are.
  const words = (entry) => {
    if (entry.words === undefined) {
      const parts = [entry.description, entry.output, entry.error, entry.errorCode, entry.reason, entry.prompt, entry.said];
      for (const [name, value] of entry.vars) parts.push(name, value);
      for (const [name, value] of entry.metadata) parts.push(name, value);
      for (const said of entry.assertions) parts.push(said.type, said.value, said.reason, said.metric);
      entry.words = parts.filter(Boolean).join("\n").toLowerCase();
    }
    return entry.words;
  };

  const chosen = (row, verdict) => {
    const cells = row.cells.filter(Boolean);
    switch (verdict) {
      case "all": return true;
      case "not-passed": return cells.some((cell) => cell.outcome !== "PASS");
      case "different": return cells.some((cell) => cell.outcome !== cells[0].outcome || cell.output !== cells[0].output);
      default: return cells.some((cell) => cell.outcome === verdict);
    }
  };

  const select = () => {
    const wanted = by("search").value.trim().toLowerCase();
    const verdict = by("verdict").value;
    state.found = tests.filter((row) =>
      chosen(row, verdict) && (!wanted || row.cells.some((cell) => cell && words(cell).includes(wanted))));
    state.page = 0;
    draw();
  };

  const cell = (entry) => {
    const td = element("td");
    if (!entry) {
      td.append(element("span", "why", "not run"));
      return td;
    }
    const button = element("button");
    button.type = "button";
    const at = state.shown.push(entry) - 1;
    button.addEventListener("click", () => open(at));
    button.append(element("span", "verdict " + entry.outcome, entry.outcome + " " + entry.score.toFixed(2)));
    const answer = entry.output ?? entry.error ?? "";
    button.append(element("span", "clamp", answer.slice(0, 600)));
    if (entry.outcome === "FAIL" && entry.reason) {
      button.append(element("span", "clamp why", entry.reason.slice(0, 300)));
    }
    td.append(button);
    if (entry.said) td.append(element("div", "clamp said", entry.said.slice(0, 300)));
    for (const [name, score] of entry.metrics.slice(0, 8)) {
      td.append(element("span", "pill", name.slice(0, 60) + " " + score.toFixed(2)));
    }
    return td;
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(state.found.length / TESTS_ON_A_PAGE));
    const from = state.page * TESTS_ON_A_PAGE;
    state.shown = [];
    const head = element("tr");
    head.append(element("th", "number", "#"), element("th", "", "test"));
    data.columns.forEach((column, index) => {
      const th = element("th", "", "(" + index + ") " + column.provider);
      th.scope = "col";
      th.title = column.raw;
      th.append(element("small", "", column.prompt.slice(0, 200)));
      head.append(th);
    });
    const thead = element("thead");
    thead.append(head);
    const tbody = element("tbody");
    for (const row of state.found.slice(from, from + TESTS_ON_A_PAGE)) {
      const tr = element("tr");
      const number = element("th", "number", row.test);
      number.scope = "row";
      const about = element("td");
      if (row.first.description) about.append(element("div", "clamp", row.first.description));
      for (const [name, value] of row.first.vars) {
        about.append(element("div", "clamp why", name + " = " + value.slice(0, 300)));
      }
      tr.append(number, about, ...row.cells.map(cell));
      tbody.append(tr);
    }
    by("matrix").replaceChildren(thead, tbody);
    by("count").textContent = state.found.length + " of " + tests.length + " tests";
    by("page").textContent = "page " + (state.page + 1) + " of " + pages;
    by("back").disabled = state.page === 0;
    by("next").disabled = state.page + 1 >= pages;
    by("pages").hidden = pages === 1;
  };

  const assertion = (said) => {
    const verdict = said.error ? "ERROR" : said.skipped ? "SKIPPED" : said.pass ? "PASS" : "FAIL";
    const box = element("div", "assertion " + verdict);
    box.append(element("span", "verdict " + verdict, said.skipped ? verdict : verdict + " " + said.score.toFixed(2)));
    let line = " " + said.type;
    if (said.value !== null) line += " " + said.value;
    if (said.metric) line += " (" + said.metric + ")";
    if (said.error) line += " [" + said.error + "]";
    box.append(line, element("div", "why", said.reason));
    if (said.asked) {
      const asked = element("details");
      asked.append(element("summary", "", "what the judge was asked"), element("pre", "", said.asked));
      box.append(asked);
    }
    for (const part of said.parts) {
      box.append(element("div", "", (part.pass ? "PASS " : "FAIL ") + part.score.toFixed(2) + " " + part.name + ": " + part.reason));
    }
    return box;
  };

  // An answer as Markdown, if it has a template, and as it is.
  const answer = (entry) => {
    const raw = element("pre", "raw", entry.output);
    const template = by("answer-" + entry.test + "-" + entry.column);
    if (!template) return [element("h3", "", "Answer"), raw];
    const head = element("h3", "", "Answer ");
    const button = element("button", "switch", "Raw or rendered (r)");
    button.type = "button";
    button.addEventListener("click", raw_or_rendered);
    head.append(button);
    const both = element("div", "both");
    const rendered = element("div", "markdown");
    rendered.append(document.importNode(template.content, true));
    both.append(rendered, raw);
    return [head, both];
  };
  const raw_or_rendered = () => document.body.classList.toggle("is-raw");

  const detail = by("detail");
  const open = (at) => {
    const entry = state.shown[at];
    if (!entry) return;
    state.open = at;
    const column = data.columns[entry.column];
    const bar = element("div", "bar");
    for (const [label, act] of [["Previous", () => open(at - 1)], ["Next", () => open(at + 1)], ["Close", () => detail.close()]]) {
      const button = element("button", "", label);
      button.type = "button";
      button.addEventListener("click", act);
      bar.append(button);
    }
    const title = element("h2", "", "Test " + entry.test + ", column " + entry.column + ": " + column.provider + " · " + column.prompt.slice(0, 120));
    title.id = "detail-title";
    const parts = [bar, title, element("p", "verdict " + entry.outcome, entry.outcome + ", score " + entry.score.toFixed(2)), element("p", "why", entry.facts)];
    const section = (name, text) => {
      if (text !== null && text !== undefined) parts.push(element("h3", "", name), element("pre", "", text));
    };
    section("Description", entry.description);
    if (entry.repeat > 0) section("Repeat", String(entry.repeat + 1));
    if (entry.vars.length) section("Variables", entry.vars.map(([name, value]) => name + " = " + value).join("\n"));
    section("Prompt", entry.prompt);
    section("Reasoning", entry.reasoning);
    if (entry.output !== null) parts.push(...answer(entry));
    section("Error", entry.error === null ? null : (entry.errorCode ? entry.errorCode + ": " : "") + entry.error);
    if (entry.assertions.length) {
      parts.push(element("h3", "", "Assertions"), ...entry.assertions.map(assertion));
    }
    section("Reason", entry.reason);
    section("A person said", entry.said);
    const listed = (pairs, told) => (pairs.length ? pairs.map(([name, value]) => name + " = " + told(value)).join("\n") : null);
    section("Metrics", listed(entry.metrics, (score) => score.toFixed(3)));
    section("Metadata", listed(entry.metadata, (value) => value));
    detail.replaceChildren(...parts);
    detail.scrollTop = 0;
    history.replaceState(null, "", "#" + entry.test + "-" + entry.column);
    if (!detail.open) detail.showModal();
  };

  detail.addEventListener("close", () => history.replaceState(null, "", "#"));

  // The address says which case is open, so that a link shows it.
  const follow = () => {
    const named = /^#(\d+)-(\d+)$/.exec(location.hash);
    const at = named ? state.found.findIndex((row) => row.test === Number(named[1])) : -1;
    if (at < 0) return;
    state.page = Math.floor(at / TESTS_ON_A_PAGE);
    draw();
    open(state.shown.findIndex((entry) => entry.test === Number(named[1]) && entry.column === Number(named[2])));
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (detail.open) {
      if (event.key === "ArrowLeft") open(state.open - 1);
      if (event.key === "ArrowRight") open(state.open + 1);
      if (event.key === "r") raw_or_rendered();
      return;
    }
    const typing = document.activeElement && ["INPUT", "SELECT"].includes(document.activeElement.tagName);
    if (event.key === "/" && !typing) {
      event.preventDefault();
      by("search").focus();
    }
  });
  const turn = (by_how_many) => {
    state.page += by_how_many;
    draw();
    by("scroll").scrollIntoView();
  };
  by("controls").addEventListener("submit", (event) => event.preventDefault());
  by("search").addEventListener("input", select);
  by("verdict").addEventListener("change", select);
  by("back").addEventListener("click", () => turn(-1));
  by("next").addEventListener("click", () => turn(1));
  if (data.leftOut) {
    by("left-out").textContent = data.leftOut;
    by("left-out").hidden = false;
  }
  select();
  follow();
  addEventListener("hashchange", () => { if (!detail.open) follow(); });
})();
