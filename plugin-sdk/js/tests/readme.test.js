// The plugins of the README are ones.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { call } from "runner-plugin/testing";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);

/** The module that a block is. */
function plugin(kind) {
  const code = blocks.find((block) => block.includes(`export const { meta, ${kind} }`));
  const here = code.replace('"runner-plugin"', JSON.stringify(new URL("../index.js", import.meta.url).href));
  return import(`data:text/javascript,${encodeURIComponent(here)}`);
}

test("the grader grades", async () => {
  const shouting = await plugin("assertion");
  assert.deepEqual(["HI", "Hi"].map((output) => call(shouting, { output }).grade.pass), [true, false]);
});

test("the provider asks", async () => {
  const exchanges = [{ request: { method: "POST", url: "https://api.acme.com/ask" }, response: { json: { answer: "4" } } }];
  const { completion } = call(await plugin("provider"), { provider: "acme:m1", prompt: "2 + 2?", exchanges });
  assert.equal(completion.text, "4");
});
