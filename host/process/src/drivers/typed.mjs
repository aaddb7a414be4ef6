// How Node.js takes the files with types that the host has made JavaScript of: hooks for its loader.
//
// They run in a thread of their own. Files are found as compilers of TypeScript find them, too: without
// an extension, and by the name that they will have once compiled. What is not among these files is
// Node's own affair.

import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const files = new Map();

export function initialize(typed) {
  for (const [path, file] of Object.entries(typed)) files.set(path, file);
}

const path = (url) => (url?.startsWith('file:') ? fileURLToPath(url) : '');

// Where a name that nothing has may stand for a file with types.
function meant(specifier, parent) {
  if (!/^(\.{0,2}\/|file:)/.test(specifier)) return undefined;
  const base = fileURLToPath(new URL(specifier, parent));
  const compiled = base.replace(/\.([cm]?)js$/, '.$1ts');
  return [base, compiled, `${base}.ts`, `${base}.mts`, `${base}.cts`, `${base}/index.ts`].find((it) => files.has(it));
}

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    const found = meant(specifier, context.parentURL);
    if (found === undefined) throw error;
    return { url: pathToFileURL(found).href, shortCircuit: true };
  }
}

export async function load(url, context, next) {
  const place = path(url);
  if (place.endsWith('.json') && !context.importAttributes?.type && !context.importAssertions?.type) {
    return { format: 'module', source: `export default ${readFileSync(place, 'utf8')}`, shortCircuit: true };
  }
  const file = files.get(place);
  if (file === undefined) return next(url, context);
  if (file.text === undefined) throw new SyntaxError(`${file.refused}; with \`tsx\` in the project it runs`);
  // Without a text it is read by `require`, as any CommonJS.
  if (!file.isModule) return { format: 'commonjs', shortCircuit: true };
  return { format: 'module', source: file.text, shortCircuit: true };
}
