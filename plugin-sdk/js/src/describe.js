// What a plugin says about itself, out of what its author wrote.

import { onlyKnown, written } from "./records.js";

/** The keys that both kinds of definitions have. */
export const COMMON = ["name", "version", "description", "homepage", "license", "hosts", "hostConfigKey", "credentials", "settings", "llm", "metadata"];

const CREDENTIAL = ["env", "reason", "scheme", "envConfigKey", "valueConfigKey"];

function credential([name, own]) {
  const want = typeof own === "string" ? { env: own } : own;
  onlyKnown(`the credential '${name}'`, want, CREDENTIAL);
  return { name, reason: `to ask as ${name}`, scheme: "bearer", ...want };
}

/** The contract's `info`. */
export const info = (own, prefixes, types, configSchema) => ({
  name: own.name,
  version: own.version ?? "0.1.0",
  description: own.description ?? own.name,
  homepage: own.homepage,
  license: own.license,
  providerPrefixes: prefixes,
  assertionTypes: types,
  wants: {
    hosts: own.hosts ?? [],
    hostConfigKey: own.hostConfigKey,
    credentials: Object.entries(own.credentials ?? {}).map(credential),
    settings: Object.entries(own.settings ?? {}).map(([env, configKey]) => ({ env, configKey })),
    llm: Object.entries(own.llm ?? {}),
  },
  configSchemaJson: written(configSchema),
  metadataJson: written(own.metadata),
});

/** The contract's `meta`. */
export const meta = (described, check = () => []) => ({
  describe: () => described,
  checkConfig: (config) => check(JSON.parse(config)),
});
