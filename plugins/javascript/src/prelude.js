// What the sandbox adds to the language, evaluated once in every context: a console that goes to
// the outcome, CommonJS modules, and names that say why they are not there. `host` has the
// functions of `machine.rs`.
(function (host) {
  "use strict";
  const { random, emit, resolve, source, compile, namespace, refuse, parse } = host;
  const { stringify } = JSON;
  const { toWellFormed } = String.prototype;
  const wellFormed = (text) => Reflect.apply(toWellFormed, text, []);
  const define = (target, name, value) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  define(Math, "random", random);
  // For the other files of the prelude (`machine.rs` has their order).
  Object.assign(host, { define, wellFormed, builtins: new Map() });

  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value}`;
    try {
      return (typeof value === "object" && stringify(value)) || String(value);
    } catch {
      return "[object that cannot be shown]";
    }
  };
  const write = (level, values) => emit(level, wellFormed(values.map(shown).join(" ")));
  const console = {};
  for (const [name, level] of [
    ["log", 2], ["info", 2], ["dir", 2], ["table", 2], ["group", 2],
    ["debug", 1], ["trace", 0], ["warn", 3], ["error", 4],
  ]) {
    define(console, name, (...values) => write(level, values));
  }
  define(console, "assert", (holds, ...values) => {
    if (!holds) write(4, ["Assertion failed", ...values]);
  });
  for (const name of ["groupEnd", "time", "timeEnd", "timeLog", "count", "clear"]) {
    define(console, name, () => {});
  }
  define(globalThis, "console", console);

  for (const name of ["fetch", "XMLHttpRequest", "WebSocket"]) {
    define(globalThis, name, function () {
      refuse(name);
    });
  }
  const absent = (name) =>
    new Proxy(function () {}, {
      get(_, key) {
        if (typeof key === "symbol") return undefined;
        refuse(`${name}.${key}`);
      },
      set(_, key) {
        refuse(`${name}.${String(key)}`);
      },
      has: () => false,
      apply: () => refuse(name),
      construct: () => refuse(name),
    });
  for (const name of ["process", "crypto"]) define(globalThis, name, absent(name));

  const loaded = new Map();
  // A module of Node's that is here; undefined if it isn't one.
  const builtin = (specifier) => host.builtins.get(specifier.replace(/^node:/, ""));
  const requirer = (base) => (specifier) =>
    builtin(String(specifier)) ?? load(resolve(base, String(specifier), true));
  const runTimer = () => host.runTimer();
  const names = (specifier) => {
    const module = builtin(specifier);
    return module && Object.keys(module);
  };
  const load = (path) => {
    const known = loaded.get(path);
    if (known) return known.exports;
    const module = { exports: {}, id: path, filename: path, loaded: false };
    loaded.set(path, module);
    try {
      if (path.endsWith(".json")) {
        module.exports = parse(source(path));
      } else {
        const body = compile(path);
        if (body === undefined) {
          module.exports = namespace(path);
        } else {
          const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
          body.call(module.exports, module.exports, requirer(path), module, path, folder);
        }
      }
    } catch (error) {
      loaded.delete(path);
      throw error;
    }
    module.loaded = true;
    return module.exports;
  };
  define(globalThis, "require", requirer(""));

  Object.defineProperty(globalThis, "__runner", {
    value: Object.freeze({ load, wellFormed, builtin, names, runTimer }),
  });
})
