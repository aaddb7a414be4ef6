// What the records of the contract have in common on their way in and out.

/** Without what is null: the contract's `none` is that, where JavaScript leaves a member out. */
export const dropNull = (record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));

/** The value that a JSON text holds; nothing where there is none. */
export const parsed = (text) => (text === undefined || text === null ? undefined : JSON.parse(text));

/** The JSON text of a value; nothing where there is none. */
export const written = (value) => (value === undefined ? undefined : JSON.stringify(value));

/** Fails where an author wrote a key that nobody reads: it is a slip, which should not wait for a run. */
export function onlyKnown(where, object, known) {
  const odd = Object.keys(object).find((key) => !known.includes(key));
  if (odd !== undefined) throw new TypeError(`${where} has no '${odd}'; it has ${known.join(", ")}`);
}

/** What a function of the author gave, which has to be there at once. */
export function settled(what, value) {
  if (typeof value?.then === "function") {
    throw new TypeError(`${what} gave a promise, and nothing waits in a plugin: leave out 'async' and 'await', fetch answers at once`);
  }
  return value;
}
