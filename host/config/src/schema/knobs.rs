//! What an editor says of a key of a provider's `config`: one fragment each.
//!
//! A key means the same wherever it is served, so the table is by key alone; a test holds it against the plugins'
//! own schemas.

/// What is said of a key of a provider's `config`.
pub(super) fn of_knob(key: &str) -> Option<&'static str> {
    let found = KNOBS.iter().find(|(known, _)| *known == key);
    found.map(|(_, gist)| *gist)
}

/// Keys that plugins have a schema for, and two that the program reads itself.
pub(super) const KNOBS: [(&str, &str); 123] = [
    (
        "apiKey",
        "the key itself; a variable of the environment is better, see `apiKeyEnvar`",
    ),
    (
        "cost",
        "US dollars for a token, where the API states no cost",
    ),
    (
        "apiBaseUrl",
        "the API's address, for a server of your own or a proxy; requests go to its origin only",
    ),
    (
        "apiKeyEnvar",
        "the environment variable that has the key, instead of the usual one",
    ),
    ("apiKeyRequired", "false: send no key"),
    ("headers", "further headers of each request"),
    (
        "passthrough",
        "an object that is merged into the request's body last",
    ),
    ("model", "the model, instead of the one in the id"),
    (
        "temperature",
        "how much chance there is in the answer; 0 for the least",
    ),
    (
        "top_p",
        "only the most likely tokens whose chances add up to this, 0 to 1",
    ),
    ("top_k", "only that many of the most likely tokens"),
    ("tools", "functions that the model may call"),
    (
        "tool_choice",
        "which tool the model has to call: auto, none, required, or one",
    ),
    ("max_tokens", "the longest answer, in tokens"),
    (
        "max_completion_tokens",
        "the longest answer with its reasoning, in tokens; for reasoning models",
    ),
    ("stop", "texts that end the answer"),
    (
        "seed",
        "the same number gives the same answer, as far as the API can",
    ),
    (
        "stream",
        "reads the answer while it comes, which gives the time to the first token",
    ),
    (
        "response_format",
        "the form of the answer: { type: json_object }, or json_schema with a schema",
    ),
    ("apiVersion", "the version of the API"),
    ("region", "the cloud's region"),
    ("toolConfig", "how tools are used, in the API's form"),
    ("topP", "as top_p"),
    ("topK", "as top_k"),
    ("stopSequences", "texts that end the answer"),
    ("stop_sequences", "texts that end the answer"),
    (
        "thinking",
        "reasoning before the answer, in the API's form: { type: enabled, budget_tokens: … }",
    ),
    ("endpoint", "where the model is, instead of the usual place"),
    (
        "input_type",
        "what the vectors are for, for example search_document",
    ),
    (
        "generationConfig",
        "options of the answer in the API's own form",
    ),
    ("maxOutputTokens", "the longest answer, in tokens"),
    ("responseSchema", "a schema that the answer has to have"),
    ("safetySettings", "what is filtered, in the API's form"),
    (
        "systemInstruction",
        "the system message, unless the prompt has one",
    ),
    ("output_format", "the form of the answer, with a schema"),
    (
        "output_config",
        "options of the answer in the API's own form",
    ),
    (
        "metadata",
        "what is sent with each request for the API's records",
    ),
    (
        "effort",
        "how much the model works at an answer: low, medium, high",
    ),
    ("beta", "names of beta features"),
    (
        "extra_body",
        "an object that is merged into the request's body last",
    ),
    (
        "apiHost",
        "the resource's host, for example name.openai.azure.com",
    ),
    (
        "projectUrl",
        "the project whose agents are asked, for example https://name.services.ai.azure.com/api/projects/x",
    ),
    (
        "baseUrl",
        "the server's address; requests go to its origin only",
    ),
    (
        "workspaceUrl",
        "the workspace's address; requests go to its origin only",
    ),
    (
        "isReasoningModel",
        "true: the deployment is a reasoning model, which its name does not tell",
    ),
    ("o1", "as isReasoningModel"),
    (
        "data_sources",
        "where the model looks things up, in the API's form",
    ),
    ("system", "the system message, unless the prompt has one"),
    (
        "inferenceConfig",
        "options of the answer in the API's own form",
    ),
    ("interfaceConfig", "as inferenceConfig"),
    ("textGenerationConfig", "as inferenceConfig"),
    (
        "additionalModelRequestFields",
        "options that only this model has",
    ),
    (
        "guardrailIdentifier",
        "the guardrail that looks at prompt and answer",
    ),
    (
        "guardrailVersion",
        "the guardrail's version; DRAFT if left out",
    ),
    ("accountId", "the account, else CLOUDFLARE_ACCOUNT_ID"),
    ("gatewayId", "the gateway, else CLOUDFLARE_GATEWAY_ID"),
    ("k", "only that many of the most likely tokens"),
    (
        "p",
        "only the most likely tokens whose chances add up to this, 0 to 1",
    ),
    ("preamble", "a system message before the prompt's"),
    ("preamble_override", "as preamble"),
    ("chat_history", "messages before the prompt's"),
    ("chatHistory", "as chat_history"),
    ("documents", "what the model may cite"),
    ("citation_options", "how it cites, in the API's form"),
    ("safety_mode", "what is filtered: CONTEXTUAL, STRICT, OFF"),
    (
        "showDocuments",
        "true: the documents that are cited stand below the answer",
    ),
    (
        "truncate",
        "which end of a text that is too long is cut off",
    ),
    ("clientName", "what the program calls itself to the API"),
    (
        "responseMimeType",
        "the form of the answer, for example application/json",
    ),
    (
        "thinkingConfig",
        "reasoning before the answer, in the API's form",
    ),
    (
        "cachedContent",
        "the name of content that the API remembers",
    ),
    (
        "reasoning_effort",
        "how much the model reasons: low, medium, high",
    ),
    (
        "reasoning_format",
        "where the reasoning stands: parsed, raw, hidden",
    ),
    (
        "include_reasoning",
        "whether the reasoning is part of the response",
    ),
    (
        "service_tier",
        "how urgent requests are, in the API's words",
    ),
    (
        "url",
        "the address, a template whose scheme and host are fixed",
    ),
    (
        "method",
        "of the request; POST with a body and GET without, if left out",
    ),
    (
        "queryParams",
        "names and values that are added to the address",
    ),
    (
        "request",
        "the whole request as text: line, headers, empty line, body",
    ),
    (
        "transformRequest",
        "a template, or code, that makes another prompt",
    ),
    (
        "transformResponse",
        "where the answer is: a path such as json.choices[0].text, or code",
    ),
    ("responseParser", "as transformResponse"),
    (
        "sessionParser",
        "where the id of the session is, such as data.body.id; it stands in the row's metadata",
    ),
    (
        "sessionSource",
        "who makes ids of sessions; read, and not needed",
    ),
    (
        "validateStatus",
        "which statuses are an answer; 2xx if left out",
    ),
    ("vars", "variables for the templates"),
    (
        "auth",
        "the credential in words: { type: bearer, token: … }",
    ),
    (
        "apiEndpoint",
        "the whole address, as an inference endpoint has it",
    ),
    ("chatCompletion", "true: text-generation asks by chat"),
    (
        "inferenceProvider",
        "who serves the model, where its name does not say so",
    ),
    ("max_new_tokens", "the longest answer, in tokens"),
    (
        "repetition_penalty",
        "how much repeated words are avoided; above 1",
    ),
    (
        "return_full_text",
        "whether the answer begins with the prompt",
    ),
    (
        "aggregation_strategy",
        "how parts of a name are put together",
    ),
    ("use_cache", "whether the API may give an earlier answer"),
    (
        "wait_for_model",
        "whether to wait until the model is loaded",
    ),
    (
        "safe_prompt",
        "true: the API puts a text about safety before the prompt",
    ),
    (
        "random_seed",
        "the same number gives the same answer, as far as the API can",
    ),
    ("num_predict", "the longest answer, in tokens"),
    ("num_ctx", "the length of the context, in tokens"),
    ("options", "options of the model, as they are"),
    ("format", "the form of the answer: json, or a schema"),
    ("think", "whether the model reasons before it answers"),
    (
        "keep_alive",
        "how long the model stays loaded, for example 5m",
    ),
    (
        "organization",
        "the organization whose quota is used; else OPENAI_ORGANIZATION",
    ),
    (
        "max_output_tokens",
        "the longest answer, in tokens; with `responses`",
    ),
    ("instructions", "the system message; with `responses`"),
    ("models", "models that are tried in turn"),
    ("provider", "which servers may answer, in the API's form"),
    (
        "reasoning",
        "reasoning before the answer, in the API's form",
    ),
    (
        "transforms",
        "what the API does with prompts that are too long",
    ),
    ("plugins", "plugins of the API, for example web"),
    ("system_prompt", "the system message"),
    (
        "prompt",
        "{ prefix, suffix }: what stands before and after the prompt",
    ),
    (
        "contentType",
        "of the request; application/json if left out",
    ),
    ("acceptType", "of the answer; application/json if left out"),
    (
        "modelType",
        "whose form requests have: openai, llama, huggingface, jumpstart, custom",
    ),
    ("maxTokens", "the longest answer, in tokens"),
    (
        "responseFormat",
        "{ path }: where the text is, such as json.choices[0].text",
    ),
    ("projectId", "the project, else that of the key"),
    ("publisher", "whose model it is; google if left out"),
    ("truncation", "whether texts that are too long are cut off"),
    ("output_dimension", "how many numbers a vector has"),
];
