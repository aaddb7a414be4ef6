// Renders every row of a table with the real nunjucks, set up as promptfoo sets it up, and
// compares what comes out with the row's `output` (`null`: it throws). With `--write` the outputs
// are put into the table instead. `cargo xtask nunjucks` runs this; nothing else does.
//
// Not run in the project's tests: those need no node, since the table holds what was confirmed.
"use strict";

const fs = require("fs");
const [, , library, table, flag] = process.argv;
const nunjucks = require(library);

function environment() {
  const engine = new nunjucks.Environment(null, { autoescape: false, throwOnUndefined: false });
  engine.addFilter("load", (text) => JSON.parse(text));
  engine.addGlobal("env", {});
  return engine;
}

function rendered(row) {
  try {
    // Each row gets its own engine and variables, so that no row can leave something to another.
    return environment().renderString(row.template, structuredClone(row.vars));
  } catch {
    return null;
  }
}

const rows = fs.readFileSync(table, "utf8").trim().split("\n").map((line) => JSON.parse(line));
let differing = 0;
for (const row of rows) {
  const output = rendered(row);
  if (flag === "--write") {
    row.output = output;
  } else if (row.output !== output) {
    differing += 1;
    console.error(`${JSON.stringify(row.template)}\n  table:    ${JSON.stringify(row.output)}\n  nunjucks: ${JSON.stringify(output)}`);
  }
}
if (flag === "--write") {
  fs.writeFileSync(table, rows.map((row) => JSON.stringify(row) + "\n").join(""));
}
console.log(`${rows.length} rows, ${differing} differ from nunjucks ${nunjucks.version ?? ""}`.trim());
process.exit(differing > 0 ? 1 : 0);
