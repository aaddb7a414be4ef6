// Calls a provider of the config as promptfoo does: a class with `callApi`, an object that has it,
// or a function.
import * as module from 'PATH';

const name = 'ENTRY';
const main = module.default?.default ?? module.default ?? module;
const logger = { debug: console.debug, info: console.info, warn: console.warn, error: console.error };

export default async function (prompt, context, options) {
  const found = name === null ? main : (main?.[name] ?? module[name]);
  const all = [prompt, { ...context, logger }, {}];
  if (typeof found === 'function' && typeof found.prototype?.callApi === 'function') {
    return new found(options).callApi(...all);
  }
  if (typeof found?.callApi === 'function') return found.callApi(...all);
  if (typeof found === 'function') return found(...all);
  throw new Error(name === null
    ? 'exports neither a class with `callApi` nor a function'
    : `exports nothing named \`${name}\` that can be called`);
}
