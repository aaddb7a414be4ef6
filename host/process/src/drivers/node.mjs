// Runs the JavaScript and TypeScript of a config in the user's own Node.js, calls side by side.
//
// The host writes one JSON object a line to standard input and reads one a line from standard
// output, each behind a token that nobody else knows. What the user's code prints comes back as log
// lines of its call.

import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';

const current = new AsyncLocalStorage();
const write = process.stdout.write.bind(process.stdout);
const writeError = process.stderr.write.bind(process.stderr);
const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
const aborts = new Map();
const providers = new Map();
let token;
let lastError;

// A line of its own, whatever a program that shares the pipe has left unfinished.
const say = (message) => write(`\n${token}${JSON.stringify(message)}\n`);

// A call has ended, and whatever it wrote past us stands before this in the other pipe.
function end(id, answer) {
  writeError(`\n${token}${JSON.stringify({ quiet: id })}\n`);
  write(`\n${token}${answer}\n`);
}

function log(level, text) {
  for (const line of String(text).replace(/\n$/, '').split('\n')) {
    // Only who masks secrets may cut.
    const text = line.length <= 65536 ? line : `(a line of ${line.length} characters)`;
    const id = current.getStore() ?? null;
    if (level === 'error') lastError = { id, text };
    say({ id, log: { level, text } });
  }
}

const LEVELS = { debug: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error', trace: 'debug' };
for (const [method, level] of Object.entries(LEVELS)) {
  console[method] = (...parts) => log(level, format(...parts));
}
process.stdout.write = (chunk, encoding, done) => {
  log('info', typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
  const after = typeof encoding === 'function' ? encoding : done;
  if (after) process.nextTick(after);
  return true;
};
const logger = {
  debug: (...parts) => log('debug', format(...parts)),
  info: (...parts) => log('info', format(...parts)),
  warn: (...parts) => log('warn', format(...parts)),
  error: (...parts) => log('error', format(...parts)),
};

// Code that ends the process has mostly said why, and the host tells what stands here.
process.on('exit', (code) => {
  if (code !== 0 && lastError?.id === (current.getStore() ?? null)) writeError(`${lastError.text}\n`);
});

// A promise that nobody waits for is its call's own business; the process goes on.
process.on('unhandledRejection', (error) => log('error', `unhandled rejection: ${error?.stack ?? error}`));

const ENDS = ['.ts', '.mts', '.cts'];

// Whether it has `import` or `export` of its own, or says so by its name.
function isModule(file, text) {
  if (/\.[cm]ts$/.test(file)) return file.endsWith('.mts');
  return /^\s*(import\b(?!\s*\()|export\b)/m.test(text) || !/\b(exports|require)\b/.test(text);
}

// What compilers to CommonJS leave a module of TypeScript, whatever it becomes. On its first line, so
// that every line keeps its number.
function asCompiled(text) {
  const isWanted = /\b(require|__dirname|__filename)\b/.test(text);
  const isOwn = /\b(const|let|var|function)\s+(require|__dirname|__filename)\b|createRequire\s*\(/.test(text);
  if (!isWanted || isOwn) return text;
  return (
    "import { createRequire as $createRequire } from 'node:module'; const require = $createRequire(import.meta.url), " +
    "__filename = require('node:url').fileURLToPath(import.meta.url), __dirname = require('node:path').dirname(__filename); " +
    text
  );
}

// The folder whose `tsx` is the project's: that of the config, or one above it that has a package.json. Never
// one into which somebody else could put one, as anybody could into a folder of the system's for temporary files.
function withTsx() {
  const own = statSync(process.cwd());
  const [owners, groups] = [new Set([0, own.uid, process.getuid?.()]), new Set([own.gid, process.getgid?.()])];
  const isOurs = (place) => {
    const { uid, gid, mode } = statSync(place);
    const isOpen = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !groups.has(gid));
    return !process.getuid || (owners.has(uid) && !isOpen);
  };
  for (let folder = process.cwd(); ; folder = path.dirname(folder)) {
    const modules = path.join(folder, 'node_modules');
    const tsx = path.join(modules, 'tsx');
    const isProject = folder === process.cwd() || existsSync(path.join(folder, 'package.json'));
    if (isProject && existsSync(tsx) && [folder, modules, realpathSync(tsx)].every(isOurs)) return folder;
    if (folder === path.dirname(folder)) return undefined;
  }
}

// The file of `tsx/esm/api` as modules import it, where the package has one: that which `require` gets is
// broken in some versions.
function ofModules(place) {
  const { exports } = JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8'));
  const entry = exports?.['./esm/api']?.import;
  const file = entry?.default ?? entry;
  return typeof file === 'string' ? path.join(place, file) : undefined;
}

// The config's TypeScript: the project's own `tsx` runs it, if there is one; else what the host has made
// of it.
async function takeTyped({ typed, hooks }) {
  try {
    const folder = withTsx();
    if (folder !== undefined) {
      const find = createRequire(path.join(folder, 'package.json'));
      const modules = ofModules(path.join(folder, 'node_modules', 'tsx'));
      if (modules !== undefined) {
        (await import(pathToFileURL(modules).href)).register();
        find('tsx/cjs/api').register();
        return;
      }
    }
  } catch (error) {
    // It is too old to be asked this way.
    if (error?.code !== 'MODULE_NOT_FOUND' && error?.code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw error;
  }
  const files = {};
  for (const [file, { text, refused }] of Object.entries(typed)) {
    const module = text !== undefined && isModule(file, text);
    files[realpathSync(file)] = { text: module ? asCompiled(text) : text, refused, isModule: module };
  }
  for (const end of ENDS) {
    const known = Module._extensions[end];
    Module._extensions[end] = (module, file) => {
      const { text, refused, isModule } = files[file] ?? {};
      if (refused) throw new SyntaxError(`${refused}; with \`tsx\` in the project it runs`);
      if (text !== undefined && !isModule) return module._compile(text, file);
      if (known) return known(module, file);
      throw new Error(`${path.basename(file)} can't be required: import it, or install \`tsx\` in the project`);
    };
  }
  Module.register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: files });
}

class NoEntry extends Error {}

async function load(call) {
  const name = /^package:(.*)/.exec(call.path)?.[1];
  const module = await import(name ?? pathToFileURL(call.path).href);
  const main = module?.default?.default ?? module?.default ?? module;
  if (call.entry == null) return main;
  const at = (value) => call.entry.split('.').reduce((inner, key) => inner?.[key], value);
  const found = at(main) ?? at(module);
  // `module.exports = fn` is known by any name that the function has.
  if (found === undefined && typeof main === 'function' && main.name === call.entry) return main;
  if (found === undefined) {
    throw new NoEntry(`${path.basename(call.path)} exports nothing named \`${call.entry}\``);
  }
  return found;
}

const METHODS = ['callApi', 'callClassificationApi', 'callEmbeddingApi'];

// promptfoo's interface: a class with `callApi`, an object that has it, or a function.
async function provider(call) {
  const key = JSON.stringify([call.path, call.entry, call.setup]);
  if (!providers.has(key)) {
    const made = load(call).then((found) => {
      const has = (method) => typeof found?.prototype?.[method] === 'function';
      if (typeof found === 'function' && METHODS.some(has)) {
        return new found(call.setup);
      }
      if (typeof found === 'function' || (found !== null && typeof found === 'object')) return found;
      throw new NoEntry(`${path.basename(call.path)} exports neither a class with \`callApi\` nor a function`);
    });
    made.catch(() => providers.delete(key));
    providers.set(key, made);
  }
  return providers.get(key);
}

async function evaluate(call, signal) {
  const names = call.arguments.map(([name]) => name);
  const values = call.arguments.map(([, value]) => value);
  if (call.role === 'provider') {
    const [prompt, context] = values;
    const all = [prompt, { ...context, logger }, { abortSignal: signal }];
    const found = await provider(call);
    const method = call.method ?? 'callApi';
    if (typeof found === 'function') return found(...all);
    if (typeof found[method] !== 'function') {
      throw new NoEntry(`${path.basename(call.path)} has no \`${method}\``);
    }
    return found[method](...all);
  }
  if (call.form === 'file') {
    const found = await load(call);
    return typeof found === 'function' ? found(...values) : found;
  }
  const require = createRequire(path.join(process.cwd(), 'promptfooconfig.yaml'));
  const source = call.form === 'expression' ? `return (\n${call.source.trim()}\n)` : call.source;
  const AsyncFunction = (async () => {}).constructor;
  return new AsyncFunction(...names, 'process', 'require', source)(...values, process, require);
}

const MISSING = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

function failure(error) {
  if (error instanceof NoEntry) return { message: error.message, missing: true };
  if (!(error instanceof Error)) return { message: `thrown: ${format(error)}` };
  const stack = String(error.stack ?? '');
  const calls = stack.split('\n').filter((line) => /^\s+at /.test(line) && !/\[eval|\bdata:/.test(line));
  const inner = calls.map((line) => line.replaceAll('file://', ''));
  const place = /\(?([^()\s]+):(\d+):(\d+)\)?$/.exec(inner.find((line) => !line.includes('node:')) ?? '');
  const where = place ? { file: place[1], line: Number(place[2]), column: Number(place[3]) } : {};
  const missing = MISSING.includes(error.code);
  return { message: `${error.name}: ${error.message}`, ...where, stack: inner.join('\n'), missing };
}

// Data only: a function that vanished would change what is meant.
function onlyData(key, value) {
  if (typeof value === 'function') throw new TypeError(`\`${key}\` of the result is a function, and only data can leave`);
  return value;
}

async function serve(id, call) {
  const abort = new AbortController();
  aborts.set(id, abort);
  try {
    // What JSON has no form for is no value, as `JSON.stringify` has it.
    const value = await evaluate(call, abort.signal);
    end(id, JSON.stringify({ id, value }, call.data ? onlyData : undefined));
  } catch (error) {
    end(id, JSON.stringify({ id, error: failure(error) }));
  } finally {
    aborts.delete(id);
  }
}

lines.once('line', async (first) => {
  const { token: ours, setup } = JSON.parse(first);
  token = ours;
  try {
    if (setup) await takeTyped(setup);
  } catch (error) {
    writeError(`${error?.stack ?? error}\n`);
    process.exit(1);
  }
  lines.on('line', (line) => {
    const request = JSON.parse(line);
    if ('ping' in request) say({ pong: request.ping });
    else if ('cancel' in request) aborts.get(request.cancel)?.abort();
    else if ('call' in request) current.run(request.id, () => serve(request.id, request.call));
  });
  say({ ready: true });
});
lines.on('close', () => process.exit(0));
