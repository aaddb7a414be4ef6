// What authors write, and what the runner gets of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PluginError, defineGrader, defineProvider, fetch, fetchAll } from "runner-plugin";
import { complete } from "runner-plugin/llm";
import { call } from "runner-plugin/testing";

const grader = (grade, more = {}) => defineGrader({ name: "mine", grade, ...more });

test("what a function gives becomes a grade", () => {
  const grades = (grade, request = {}) => {
    const { pass, score, reason } = call(grader(grade), request).grade;
    return [pass, score, reason];
  };
  assert.deepEqual(grades(() => true), [true, 1, "Assertion passed"]);
  assert.deepEqual(grades(() => false, { type: "not-mine" }), [true, 1, "Assertion passed"]);
  assert.deepEqual(grades(() => 0.25), [true, 0.25, "Assertion passed"]);
  assert.deepEqual(grades(() => 0.25, { threshold: 0.5 }), [false, 0.25, "Assertion failed"]);
  assert.deepEqual(grades(() => ({ pass: false, score: 0.5, reason: "so" }), { type: "not-mine" }), [true, 0.5, "so"]);
  const opposite = grader(() => true, { opposite: () => ({ pass: false, reason: "own" }) });
  assert.equal(call(opposite, { type: "not-mine" }).grade.reason, "own");
  assert.deepEqual(call(grader(() => ({ pass: true, namedScores: { a: 0.5 } })), {}).grade.namedScores, { a: 0.5 });
});

test("a grade sees what it is about", () => {
  const seen = grader(({ value, vars, output, threshold, config }) => {
    assert.deepEqual([value, vars, output, threshold, config], [{ most: 2 }, { a: 1 }, "x", undefined, {}]);
    return true;
  }, { reads: ["vars"], value: { type: "object" } });
  call(seen, { value: { most: 2 }, vars: { a: 1 }, output: "x" });
  const [type] = seen.meta.describe().assertionTypes;
  assert.deepEqual([type.valueSchemaJson, type.reads.vars, type.reads.prompt], ['{"type":"object"}', true, false]);
});

test("an exception says where it was thrown", () => {
  const broken = grader(() => null.length);
  assert.throws(() => call(broken, {}), (error) => {
    assert.equal(error.code, "other");
    assert.match(error.message, /^TypeError: Cannot read properties of null .* \(.*plugin\.test\.js:\d+\)$/);
    return true;
  });
  assert.throws(() => call(grader(() => { throw new PluginError("unsupported", "no pictures"); }), {}), { code: "unsupported", message: "no pictures" });
  assert.throws(() => call(grader(async () => true), {}), /leave out 'async' and 'await'/);
  assert.throws(() => call(grader(() => undefined), {}), /grade gave undefined/);
  assert.throws(() => call(grader(() => NaN), {}), /the score is NaN/);
});

test("a slip in a definition is found when it is built", () => {
  assert.throws(() => defineGrader({ name: "a", grades: () => true }), /has no 'grades'/);
  assert.throws(() => defineGrader({ name: "a" }), /has no function 'grade'/);
  assert.throws(() => defineGrader({ name: "a", grade: () => true, reads: ["var"] }), /reads has no 'var'/);
  assert.throws(() => defineProvider({ name: "a", complete: () => "", credentials: { k: { environment: "K" } } }), /has no 'environment'/);
});

const hosts = ["https://api.example.com"];
const credentials = { "mine-key": "MINE_API_KEY" };
const asker = defineProvider({
  name: "mine", hosts, credentials,
  complete({ prompt, model }) {
    console.log("asking", { model });
    const reply = fetch("https://api.example.com/ask", { body: JSON.stringify({ prompt }), credential: "mine-key", bucket: model });
    const { answer, usage } = reply.orThrow().json();
    return { text: answer, usage };
  },
});
const asked = { provider: "mine:small", prompt: "2+2?" };

test("a provider asks through the runner, and logs", () => {
  const response = { json: { answer: "4", usage: { input: 7, output: 1 } } };
  const { completion, requests, log } = call(asker, { ...asked, exchanges: [{ request: { method: "POST", url: "https://api.example.com/ask" }, response }] });
  assert.deepEqual([completion.text, completion.usage], ["4", { inputTokens: 7, outputTokens: 1, other: [] }]);
  assert.deepEqual([requests[0].json, requests[0].credential, requests[0].bucket], [{ prompt: "2+2?" }, "mine-key", "small"]);
  assert.deepEqual(log, [{ level: "info", message: 'asking {"model":"small"}' }]);
});

test("a status has a code, and what the host refuses keeps its own", () => {
  const of = (exchange) => () => call(asker, { ...asked, exchanges: [exchange] });
  assert.throws(of({ response: { status: 429, json: { slow: true } } }), { code: "rate-limited", status: 429, detail: { slow: true } });
  assert.throws(of({ response: { status: 503 } }), { code: "transient" });
  assert.throws(of({ response: { text: "no JSON" } }), { code: "bad-response", status: 200 });
  assert.throws(of({ error: { code: "denied", message: "not granted" } }), { code: "denied", message: "not granted" });
});

test("what a plugin uses and does not want is an error of the test", () => {
  const using = (act) => defineGrader({ name: "mine", hosts, grade: () => { act(); return true; } });
  assert.throws(() => call(using(() => fetch("https://other.example.com")), {}), /'hosts' lacks https:\/\/other.example.com/);
  assert.throws(() => call(using(() => fetch(hosts[0], { credential: "k" })), {}), /'credentials' lacks 'k'/);
  assert.throws(() => call(using(() => complete("judge", "?")), {}), /'llm' lacks 'judge'/);
  assert.throws(() => call(using(() => fetch(hosts[0])), {}), /no exchange left/);
  assert.throws(() => call(asker, { ...asked, exchanges: [{ response: { json: { answer: "4" } } }, { response: {} }] }), /left out 1/);
});

test("a grader asks a model", () => {
  const judge = defineGrader({ name: "mine", llm: { judge: "says whether it is kind" }, grade: ({ output }) => complete("judge", `Is this kind? ${output}`).text === "yes" });
  const { grade, asked } = call(judge, { output: "thanks", models: { judge: "yes" } });
  assert.deepEqual([grade.pass, asked[0].prompt], [true, "Is this kind? thanks"]);
});

test("several requests go at once, and one that fails is its place's error", () => {
  const many = defineGrader({ name: "mine", hosts, grade: () => {
    const [one, two] = fetchAll([hosts[0], [`${hosts[0]}/b`, { body: new URLSearchParams({ a: "b c" }) }]]);
    return { pass: one.ok && two.code === "transient", reason: one.text() };
  } });
  const { grade, requests } = call(many, { exchanges: [{ response: { text: "one" } }, { error: { code: "transient", message: "cut" } }] });
  assert.deepEqual([grade.pass, grade.reason, requests[1].text], [true, "one", "a=b+c"]);
});
