"use strict";
// The tests of a page that stands alone: filter, search, pages, and one case in full.
//
// Each case is HTML that the program has made, with every text in it escaped; it stands in an element that does
// nothing, and is read when it is shown. The address says what is shown, so that a link shows the same.
(() => {
  const TESTS = 25;
  const by = (id) => document.getElementById(id);
  const { columns, tests: of, leftOut } = JSON.parse(by("data").textContent);
  const number = (text) => Number(text);
  const count = (it) => it.toLocaleString("en");

  // Rows of the table: the cases of one test, by column. What did not pass may stand first in the page.
  const cases = [...document.querySelectorAll("script[data-test]")].map((source) => ({
    source, test: number(source.dataset.test), column: number(source.dataset.column),
    word: source.dataset.word, answer: source.dataset.answer,
  }));
  cases.sort((one, other) => one.test - other.test || one.column - other.column);
  const tests = [];
  for (const entry of cases) {
    if (tests.at(-1)?.test !== entry.test) tests.push({ test: entry.test, cells: [], cases: [] });
    tests.at(-1).cells[entry.column] = entry;
    tests.at(-1).cases.push(entry);
  }

  const made = (entry) => new DOMParser().parseFromString(entry.source.textContent, "text/html");
  const element = (name, className, text) => {
    const one = document.createElement(name);
    if (className) one.className = className;
    if (text !== undefined) one.textContent = text;
    return one;
  };

  // What the search looks through; made when it is first needed. Words of ours are left out.
  const OURS = /<(h2|summary)>[^<]*<\/\1>|<p class="hint">[^<]*<\/p>|<[^>]*>/g;
  const words = (entry) => (entry.words ??= entry.source.textContent.replace(OURS, "\n").toLowerCase());
  const escaped = (text) => text.replace(/[&<>"]/g, (it) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[it]);

  const is = (entry, verdict) => (verdict === "not-passed" ? entry.word !== "PASS" : entry.word === verdict);
  const picksCases = (verdict) => verdict !== "" && verdict !== "different";
  const chosen = (row, verdict) => {
    if (verdict === "") return true;
    if (verdict !== "different") return row.cases.some((entry) => is(entry, verdict));
    return row.cases.some((entry) => entry.word !== row.cases[0].word || entry.answer !== row.cases[0].answer);
  };

  // What the address says.
  const read = () => {
    const [place, query] = location.hash.slice(1).split("?");
    const said = new URLSearchParams(query);
    const at = /^(\d+)-(\d+)$/.exec(place);
    return {
      at: at ? [number(at[1]), number(at[2])] : null, verdict: said.get("verdict") ?? "", q: said.get("q") ?? "",
      page: Math.max(0, number(said.get("page") ?? 0) || 0),
    };
  };
  const address = (now) => {
    const said = new URLSearchParams();
    for (const name of ["verdict", "q", "page"]) if (now[name]) said.set(name, now[name]);
    const query = said.toString();
    return "#" + (now.at ? now.at.join("-") : "") + (query ? "?" + query : "");
  };
  const link = (rel, text, now) => {
    const one = element("a", "", text);
    if (rel) one.rel = rel;
    one.href = address(now);
    return one;
  };

  let found = tests;
  let last = null;
  const find = (now) => {
    const wanted = escaped(now.q.trim().toLowerCase());
    found = tests.filter((row) => chosen(row, now.verdict) && (!wanted || row.cases.some((entry) => words(entry).includes(wanted))));
  };

  const drawRow = (row, now) => {
    const tr = element("tr", "row");
    const head = element("th", "number", row.test);
    head.scope = "row";
    tr.append(head);
    let about = null;
    const cells = [];
    for (let column = 0; column < columns; column++) {
      const entry = row.cells[column];
      if (!entry) { cells.push(element("td", "cell none", "not here")); continue; }
      const page = made(entry);
      about ??= page.querySelector("td.about");
      const cell = page.querySelector("td.cell");
      cell.classList.toggle("other", picksCases(now.verdict) && !is(entry, now.verdict));
      cell.querySelector("a.case").href = address({ ...now, at: [entry.test, column] });
      cells.push(cell);
    }
    tr.append(about ?? element("td", "about"), ...cells);
    return tr;
  };

  const drawTests = (now) => {
    const pages = Math.max(1, Math.ceil(found.length / TESTS));
    const page = Math.min(now.page, pages - 1);
    const rows = found.slice(page * TESTS, (page + 1) * TESTS);
    by("tests").replaceChildren(...rows.map((row) => drawRow(row, now)));
    const shown = pages > 1 ? "; " + count(rows.length) + " on this page" : "";
    by("count").textContent = count(found.length) + " of " + count(of) + " tests" + shown + (leftOut ? "; not all are in this report" : "");
    const ways = [];
    if (page > 0) ways.push(link("prev", "Previous", { ...now, page: page - 1 }));
    if (page + 1 < pages) ways.push(link("next", "Next", { ...now, page: page + 1 }));
    if (pages > 1) ways.push(element("span", "others", "page " + (page + 1) + " of " + pages));
    by("pages").replaceChildren(...ways);
  };

  const drawCase = (entry, now) => {
    const to = (other) => ({ ...now, at: [other.test, other.column] });
    const page = made(entry).querySelector(".one");
    const listed = found.flatMap((row) => row.cases.filter((other) =>
      picksCases(now.verdict) ? is(other, now.verdict) : other.column === entry.column));
    const after = (other) => other.test > entry.test || (other.test === entry.test && other.column > entry.column);
    const before = (other) => other.test < entry.test || (other.test === entry.test && other.column < entry.column);
    const ways = [];
    const [previous, next] = [listed.findLast(before), listed.find(after)];
    if (previous) ways.push(link("prev", "Previous", to(previous)));
    if (next) ways.push(link("next", "Next", to(next)));
    const beside = tests.find((row) => row.test === entry.test).cases;
    if (beside.length > 1) {
      const others = element("span", "others", "Column ");
      for (const other of beside) {
        const way = other === entry ? element("b", "", other.column) : link("", other.column, to(other));
        others.append(way, " ");
      }
      ways.push(others);
    }
    page.querySelector("nav.pages").replaceChildren(...ways);
    for (const pre of page.querySelectorAll("pre")) pre.tabIndex = 0;
    by("one").replaceChildren(...page.childNodes);
    const at = found.findIndex((row) => row.test === entry.test);
    document.querySelector("#case a[rel=up]").href = address({ ...now, at: null, page: at < 0 ? now.page : Math.floor(at / TESTS) });
  };

  let key = null;
  const draw = () => {
    const now = read();
    if (key !== now.verdict + "\n" + now.q) { key = now.verdict + "\n" + now.q; find(now); }
    by("verdict").value = now.verdict;
    if (by("search").value !== now.q) by("search").value = now.q;
    const entry = now.at && tests.find((row) => row.test === now.at[0])?.cells[now.at[1]];
    by("run").hidden = Boolean(entry);
    by("case").hidden = !entry;
    // Keys follow the rows and links of what is shown.
    for (const id of entry ? ["tests", "pages"] : ["one"]) by(id).replaceChildren();
    if (entry) {
      drawCase(entry, now);
      last = entry.test;
      scrollTo(0, 0);
      return;
    }
    drawTests(now);
    const row = [...by("tests").rows].find((it) => number(it.cells[0].textContent) === last);
    if (last !== null) (row ?? by("cases")).scrollIntoView({ block: row ? "center" : "start" });
    row?.classList.add("at");
    last = null;
  };

  const turn = (changes) => { history.replaceState(null, "", address({ ...read(), at: null, page: 0, ...changes })); draw(); };
  by("controls").addEventListener("submit", (event) => event.preventDefault());
  by("search").addEventListener("input", (event) => turn({ q: event.target.value }));
  by("verdict").addEventListener("change", (event) => turn({ verdict: event.target.value }));
  by("pages").addEventListener("click", (event) => { if (event.target.rel) by("controls").scrollIntoView(); });
  // At once, and not when the browser says that the address is another: the next key may come before.
  document.addEventListener("click", (event) => {
    const to = event.target.closest("a")?.getAttribute("href");
    if (!/^#($|\d|\?)/.test(to ?? "") || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", to);
    draw();
  });
  addEventListener("hashchange", draw);
  if (leftOut) {
    by("left-out").append(by("says-left-out").content);
    by("left-out").hidden = false;
  }
  draw();
})();
