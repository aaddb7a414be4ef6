// The addresses of QuickJS are those of Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { URL as Own, URLSearchParams as OwnParams } from "../src/url.js";

const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
const ADDRESSES = [
  "https://api.example.com", "HTTPS://API.Example.com:443/v1/../v2/./ask?a=b c&d='e'#f`g", "http://a:80", "http://a:8080/",
  "https://user:p%40ss:w@host/x", "https://[::1]:3000/a", "http://127.0.0.1:9/", "https://a/%7Efoo/%2e%2e/b", "https://a/é?ü#ö",
  "https:\\\\a\\b", "  https://a/b\n", "ws://a/b", "data:text/plain,hi there?x#y z", "mailto:a@b.c", "custom://host/a/../b?c'd", "https:a/b",
  "https://a?x", "https://a#x", "https://a/b/..", "https://a/b/.", "foo:/a/../b", "https://a//b", "https://a/b;c=d,e",
];
const BAD = ["", "a/b", "https://", "https://a:99999", "https://a:x", "https://a b/", "https://a%zz", "https://a|b"];

test("an address has the same parts", () => {
  for (const address of ADDRESSES) {
    const [own, theirs] = [new Own(address), new URL(address)];
    for (const part of PARTS) assert.equal(own[part], theirs[part], `${part} of ${address}`);
  }
});

test("a relative address is found from its base", () => {
  const bases = ["https://a/b/c/d?e#f", "http://u:p@a:8080/", "https://a"];
  for (const base of bases) {
    for (const address of ["", "x", "./x", "../x", "../../../x", "/x", "//h/x", "?q", "#h", "x?y#z", "x/", "..", ".", "https://o/p", "\\x"]) {
      assert.equal(new Own(address, base).href, new URL(address, base).href, `${address} from ${base}`);
    }
  }
});

test("what is no address is refused", () => {
  for (const address of BAD) {
    assert.equal(Own.canParse(address), URL.canParse(address), address);
    assert.throws(() => new Own(address), { name: "TypeError", code: "ERR_INVALID_URL" }, address);
  }
});

test("parts can be changed", () => {
  const changes = { pathname: "a b/../c", search: "x=1 2", hash: "h i", port: "8443", hostname: "Other.example", username: "u@", password: "p/" };
  const [own, theirs] = [new Own("https://a/b?c"), new URL("https://a/b?c")];
  for (const [part, value] of Object.entries(changes)) {
    [own[part], theirs[part]] = [value, value];
    assert.equal(own.href, theirs.href, part);
  }
  for (const url of [own, theirs]) {
    url.searchParams.append("ä", "ö & +");
    url.searchParams.set("x", "3");
  }
  assert.equal(own.href, theirs.href);
});

test("queries are read and written the same", () => {
  for (const text of ["a=b&c", "?a=1+2&a=%C3%A9&b=%ff%zz", "=x&y=", "a=b=c", "&&"]) {
    assert.deepEqual([...new OwnParams(text)], [...new URLSearchParams(text)], text);
    assert.equal(String(new OwnParams(text)), String(new URLSearchParams(text)), text);
  }
  assert.equal(String(new OwnParams({ a: 1, "b c": "~!'()*" })), String(new URLSearchParams({ a: 1, "b c": "~!'()*" })));
});
