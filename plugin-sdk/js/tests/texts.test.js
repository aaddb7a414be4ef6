// What QuickJS gets for texts and copies does what Node.js does.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as own from "../src/texts.js";

test("texts become bytes, and bytes texts", () => {
  for (const text of ["", "a", "é€😀", "\ud800x", "\ufeffmark", "x".repeat(20000)]) {
    assert.deepEqual(new own.TextEncoder().encode(text), new TextEncoder().encode(text));
    const bytes = new TextEncoder().encode(text);
    assert.equal(new own.TextDecoder().decode(bytes), new TextDecoder().decode(bytes));
  }
});

test("bytes that are no UTF-8 are mended as elsewhere, or refused", () => {
  for (const bytes of [[0xff], [0xe2, 0x82], [0xe2, 0x82, 0x41], [0xf0, 0x9f, 0x98], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x61, 0x80, 0x62], [0xf0, 0x80, 0x80, 0x80]]) {
    const array = Uint8Array.from(bytes);
    assert.equal(new own.TextDecoder().decode(array), new TextDecoder().decode(array), String(bytes));
    assert.throws(() => new own.TextDecoder("utf8", { fatal: true }).decode(array), TypeError);
  }
});

test("a copy shares nothing and keeps its form", () => {
  const value = { date: new Date(5), map: new Map([["a", [1]]]), set: new Set([1]), bytes: new Uint8Array([1, 2]), list: [, 1], pattern: /a/g };
  value.self = value;
  const copy = own.structuredClone(value);
  assert.deepEqual(copy, value);
  assert.notEqual(copy.map, value.map);
  assert.equal(copy.self, copy);
  assert.throws(() => own.structuredClone(() => 1), { name: "DataCloneError" });
});
