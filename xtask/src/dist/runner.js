#!/usr/bin/env node
// Starts the program that came for this machine, and ends as it does.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `runner-eval-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/runner`);
} catch {
  console.error(`error: runner is not made for ${process.platform} on ${process.arch}, or was installed without
optional packages
help: npm install ${name}`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C reaches the program as well, which ends when what runs is kept; others have to be passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${program} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
