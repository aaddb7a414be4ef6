// Calls a provider of the config as promptfoo does: a class with the method, an object that has it,
// or a function.
import * as module from 'PATH';

const name = 'ENTRY';
const main = module.default?.default ?? module.default ?? module;
const logger = { debug: console.debug, info: console.info, warn: console.warn, error: console.error };

export default async function (prompt, context, options) {
  const named = typeof main === 'function' && main.name === name ? main : undefined;
  const found = name === null ? main : (main?.[name] ?? module[name] ?? named);
  const all = [prompt, { ...context, logger }, {}];
  if (typeof found === 'function' && typeof found.prototype?.METHOD === 'function') {
    return new found(options).METHOD(...all);
  }
  if (typeof found?.METHOD === 'function') return found.METHOD(...all);
  if (typeof found === 'function' && !/^class\b/.test(found)) return found(...all);
  throw new Error(name === null
    ? 'exports neither a class with `METHOD` nor a function'
    : `exports nothing named \`${name}\` that can be called`);
}
