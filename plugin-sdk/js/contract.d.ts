// Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.

export namespace types {
  /** What went wrong, as a closed set the host can act on. */
  type ErrorCode = "invalid-request" | "auth" | "rate-limited" | "quota-exhausted" | "not-found" | "context-length" | "content-filter" | "timeout" | "transient" | "bad-response" | "denied" | "budget" | "unsupported" | "other";
  interface Error {
    code: types.ErrorCode;
    /** One human-readable line. Never put prompts or secrets here. */
    message: string;
    /** HTTP status, where there was one. */
    status?: number | null;
    /** Earliest useful retry, in ms from now; overrides the host's backoff. */
    retryAfterMs?: number | null;
    /** The API's own error body or other detail. */
    detailJson?: string | null;
  }
  /** Bytes with a media type, for example "image/png". */
  interface Media {
    mimeType: string;
    data: Uint8Array;
  }
  interface ToolCall {
    id: string;
    name: string;
    argumentsJson: string;
  }
  interface ToolResult {
    id: string;
    content: string;
    isError: boolean;
  }
  type Part = { tag: "text"; val: string } | { tag: "media"; val: types.Media } | { tag: "url"; val: string } | { tag: "tool-call"; val: types.ToolCall } | { tag: "tool-result"; val: types.ToolResult } | { tag: "reasoning"; val: string } | { tag: "other"; val: string };
  type Role = "system" | "developer" | "user" | "assistant" | "tool";
  interface Message {
    role: types.Role;
    name?: string | null;
    content: Array<types.Part>;
  }
  /** Token counts as the API reported them; `none` means "not reported". */
  interface Usage {
    inputTokens?: number | null;
    outputTokens?: number | null;
    /** As reported, where the API reports a total; `none`: the sum of the two above. */
    totalTokens?: number | null;
    /** Prompt-cache reads and writes, both included in `input-tokens`. */
    cacheReadTokens?: number | null;
    cacheWriteTokens?: number | null;
    /** Included in `output-tokens`. */
    reasoningTokens?: number | null;
    /** Other meters, for example ("web-search-calls", 2). */
    other: Array<[string, number]>;
  }
  type FinishReason = { tag: "stop" } | { tag: "length" } | { tag: "tool-calls" } | { tag: "refusal" } | { tag: "content-filter" } | { tag: "other"; val: string };
  /** One model answer. */
  interface Completion {
    message: types.Message;
    /** The answer as one JSON value where it is not text (tool calls, parsed JSON). The
     *  run's output is this value if present, else the text parts of `message` joined. */
    outputJson?: string | null;
    /** `none`: the API did not say. */
    finishReason?: types.FinishReason | null;
    usage: types.Usage;
    /** Price of this call in US dollars if the API states it. Leave `none`
     *  otherwise: the host computes it from its price table. */
    costUsd?: number | null;
    /** Model that really answered, if the API says so. */
    model?: string | null;
    /** Raw API response for the results file; the host may truncate it. */
    rawJson?: string | null;
    /** Free-form extras, a JSON object. This is how the record grows without an ABI break. */
    metadataJson?: string | null;
  }
  /** A request to a model. */
  interface Request {
    messages: Array<types.Message>;
    /** The rendered prompt as it stands in the results: the text that became `messages`. */
    prompt: string;
    /** Sampling options set for this one request (by a grader, or by a test's
     *  options); each wins over the same knob in the target's config. `none` means
     *  "as configured". */
    temperature?: number | null;
    topP?: number | null;
    maxTokens?: number | null;
    seed?: number | null;
    stop: Array<string>;
    /** JSON Schema for the answer. */
    responseSchemaJson?: string | null;
    /** Tool definitions, JSON array. */
    toolsJson?: string | null;
    /** Everything API-specific, a JSON object merged over the target's config. */
    optionsJson?: string | null;
    /** Upper bound for this request; the host enforces its own deadline anyway. */
    timeoutMs?: number | null;
  }
  /** Identity of the call, for labels and seeds. Stable across retries and cache. */
  interface CallContext {
    /** Hash of (test, prompt, provider, repeat index): same case, same value, on any
     *  machine. Seed any pseudo-randomness with it. A plugin that did not come with the
     *  host gets one of what the call gives it, and the repeat index. */
    callId: string;
    /** 1 for the first try. The host retries, not the guest. */
    attempt: number;
    /** Time left when the call began. */
    deadlineMs?: number | null;
    testIndex: number;
    repeatIndex: number;
    labels: Array<[string, string]>;
  }
}

export namespace log {
  type Level = "trace" | "debug" | "info" | "warn" | "error";
}

export namespace http {
  type CacheMode = "auto" | "bypass";
  interface Request {
    method: string;
    /** Absolute https URL (http only where the grant says so). */
    url: string;
    /** `authorization`, `cookie`, `host`, `proxy-*`, framing headers and the header
     *  of the named credential are refused. */
    headers: Array<[string, string]>;
    body?: Uint8Array | null;
    /** Name of a granted credential. The host adds it after all checks, only for the
     *  origins bound to it. The value never enters the guest, and is masked in the
     *  response. */
    credential?: string | null;
    /** Rate-limit bucket within the credential, usually the model name. */
    bucket?: string | null;
    timeoutMs?: number | null;
    cache: http.CacheMode;
  }
  interface Response {
    status: number;
    /** Lower-case names; `set-cookie` and credential echoes removed. */
    headers: Array<[string, string]>;
    body: Uint8Array;
    /** Served from the host's cache or a recording: no network was used. */
    cached: boolean;
  }
}

export namespace llm {
  interface Answer {
    completion: types.Completion;
    /** Concrete provider id behind the alias. */
    providerId: string;
    cached: boolean;
    /** By the host's price table, or the provider's own figure. */
    costUsd?: number | null;
  }
}

export namespace meta {
  /** A secret that the plugin wants the host to add to its requests. Never the value. */
  interface CredentialWant {
    /** The name that `http.request.credential` uses. */
    name: string;
    /** Why, for the person who grants it. */
    reason: string;
    /** Environment variable that usually holds it. */
    env: string;
    /** Config key by which a user may name another variable, for example "apiKeyEnvar". */
    envConfigKey?: string | null;
    /** Config key by which a user may give the value itself, for example "apiKey". The
     *  host takes it out of the config before the guest sees it. */
    valueConfigKey?: string | null;
    /** "bearer", "basic", "header:<name>", "query:<name>", "aws-sigv4:<service>" or
     *  "google-adc".
     *  With "aws-sigv4" the host signs each request for that service of AWS. `env` is the
     *  variable of the secret access key and ends with "SECRET_ACCESS_KEY"; in those beside it
     *  are the key's id ("…ACCESS_KEY_ID") and the session token ("…SESSION_TOKEN"). The region
     *  is that of an address of AWS, else the config's `region`.
     *  With "google-adc" the host asks Google for an access token and sends that as a bearer.
     *  `env` is the variable of the file with the key ("GOOGLE_APPLICATION_CREDENTIALS"); the
     *  config's `projectId`, if it is left out, is filled with the key's project. */
    scheme: string;
  }
  /** An environment variable whose value, if set and granted, fills a config key that
   *  the config leaves out. For addresses and the like; never for secrets. */
  interface SettingWant {
    env: string;
    configKey: string;
  }
  /** What the plugin asks for. A request, never a grant; shown by
   *  `runner plugin inspect` and in the message that asks for grants. */
  interface Wants {
    /** Origins, for example "https://api.example.com" or "https://*.example.com". */
    hosts: Array<string>;
    /** Config key whose URL replaces `hosts` for a provider that sets it. */
    hostConfigKey?: string | null;
    credentials: Array<meta.CredentialWant>;
    settings: Array<meta.SettingWant>;
    /** (llm alias, why). */
    llm: Array<[string, string]>;
  }
  /** Parts of `assertion.input` that cost time to hand over or make a grade depend on
   *  more than the answer. What is not asked for arrives empty. */
  type Inputs = { completion?: boolean; prompt?: boolean; vars?: boolean; test?: boolean; latency?: boolean; cost?: boolean };
  /** One assertion type that the component serves. `not-` is added by the host. */
  interface AssertionType {
    name: string;
    /** JSON Schema (2020-12) of the assertion's `value`; `none`: anything. A value that
     *  is left out is checked as null. */
    valueSchemaJson?: string | null;
    reads: meta.Inputs;
  }
  interface Info {
    /** Lower-case kebab name; the default alias in configs. */
    name: string;
    version: string;
    description: string;
    homepage?: string | null;
    license?: string | null;
    /** Provider ids begin with one of these, alone ("echo") or before a colon
     *  ("openai:gpt-4o"). */
    providerPrefixes: Array<string>;
    assertionTypes: Array<meta.AssertionType>;
    wants: meta.Wants;
    /** JSON Schema (2020-12) of a provider's `config`; the host validates before any
     *  call. */
    configSchemaJson?: string | null;
    /** Growth room: a JSON object. Keys that the host reads:
     *  `script-languages` (track 0.1.1), in plugins that export `script` and in no others: a
     *  non-empty array of `{"name": "javascript", "extensions": ["js", "mjs"]}`, both of
     *  lower-case letters and digits, each at most once.
     *  `wantsOf`: by provider prefix, which of the wants a provider of that prefix uses, as
     *  `{"hosts": [...], "credentials": [names], "settings": [variables]}`. All others are
     *  neither asked for nor granted to it. A key may be a prefix, a colon and the first part
     *  of the target's name, which then counts instead for targets of that name. A key may be
     *  `assertion:` and an assertion type: that says which a grade of the type uses, as
     *  `{"hosts": [...], "credentials": [names], "llm": [aliases]}`.
     *  `credentialEnvs`: by credential, an array of further variables that may hold it, looked
     *  at in order after `credential-want.env`.
     *  `optionalCredentials`: an array of credentials that may be missing.
     *  `credentialsIfSet`: the same; the names of those that are missing stand in the array
     *  `$without` of the provider's config.
     *  `credentialsUnless`: by credential, another one that is wanted before it; where that has a
     *  value, this one is neither needed nor granted.
     *  `checks`: with `"target"`, the config that `check-config` gets has a member `$target`,
     *  `{"id": ..., "name": ...}` of the provider. With `"values"`, `check-config` is asked for
     *  values of assertions, too: `{"$values": [[type, value], ...]}`; a problem's pointer is
     *  the place in that list.
     *  `reads`: with `"vars"`, a request's `options-json` has the case's variables as `vars`, if the
     *  plugin came with the host. They hold what a test expects, so that others get none. */
    metadataJson?: string | null;
  }
}

export namespace provider {
  /** What is called: `id` as the config writes it ("openai:chat:gpt-4o"), `name` what
   *  follows the prefix and its colon ("chat:gpt-4o", empty for a bare prefix). */
  interface Target {
    id: string;
    name: string;
    /** The provider's `config`, a JSON object that has passed the schema. */
    configJson: string;
  }
}

export namespace assertion {
  interface Input {
    /** The assertion type, without `not-`: one of `meta.info.assertion-types`. */
    type: string;
    /** The config says `not-<type>`. The grader inverts, since what that means differs
     *  by type. */
    inverse: boolean;
    /** The assertion's `value` after templates and files; `none` where it has none. */
    valueJson?: string | null;
    threshold?: number | null;
    /** The assertion's own `config`, a JSON object. */
    configJson?: string | null;
    /** The answer after the run's transforms, as text: a string as it is, anything else
     *  as compact JSON. */
    output: string;
    /** The same as a JSON value, where it is not a string. */
    outputJson?: string | null;
    /** The answer as the provider gave it, if it came from a provider of this run. */
    completion?: types.Completion | null;
    prompt: Array<types.Message>;
    /** Test variables, one JSON object. */
    varsJson?: string | null;
    /** The test case, one JSON object. */
    testJson?: string | null;
    latencyMs?: number | null;
    costUsd?: number | null;
    /** Growth room. Of an answer that was streamed it has `ttftMs`, the time to its first token in
     *  milliseconds, if the type reads `latency`. */
    extraJson?: string | null;
  }
  /** Part of a grade; flat, because WIT has no recursive types. */
  interface Component {
    name: string;
    pass: boolean;
    score: number;
    weight: number;
    reason: string;
  }
  interface Grade {
    pass: boolean;
    score: number;
    reason: string;
    /** Names are unique. */
    namedScores: Array<[string, number]>;
    components: Array<assertion.Component>;
    metadataJson?: string | null;
  }
}
