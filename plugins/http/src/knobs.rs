//! What the config says: the request with its templates, and how to read the response.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request, Target, http, log};

use crate::multipart;
use crate::pick::Pick;
use crate::raw::{self, Raw};
use crate::render::{self, Filler};
use crate::status::Accepted;

/// Where the host says that it reads the response itself, by code; never the user's to write.
const RAW: &str = "$raw";

/// The option in which the host hands over what code made of the prompt.
const REQUEST: &str = "$request";

/// Variables of the host's, over those of the case; never the user's to write.
const VARS: &str = "$vars";

/// Keys that are read here or steer promptfoo and the host.
const KNOWN: [&str; 23] = [
    RAW,
    VARS,
    "auth",
    "basePath",
    "body",
    "cost",
    "headers",
    "maxRetries",
    "method",
    multipart::KEY,
    "queryParams",
    "request",
    "responseParser",
    "responseTransform",
    "sessionParser",
    // Says who makes ids of sessions, which no request here depends on.
    "sessionSource",
    "tokenEstimation",
    "transformRequest",
    "transformResponse",
    "url",
    "useHttps",
    "validateStatus",
    "vars",
];

/// Keys that cannot be honoured, and what to do instead.
const REFUSED: [(&str, &str); 3] = [
    ("session", "is not supported; each request stands alone"),
    (
        "streamFormat",
        "is not supported; the answer arrives as a whole",
    ),
    ("stream", "is not supported; the answer arrives as a whole"),
];

/// Headers of a raw request that follow from the rest of it.
const IMPLIED: [&str; 6] = [
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "transfer-encoding",
];

/// The shapes of the knobs.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": { "type": "string", "pattern": "^https?://" },
            "method": { "type": "string", "pattern": "^[A-Za-z]+$" },
            "headers": { "type": "object", "additionalProperties": { "type": "string" } },
            "queryParams": {
                "type": "object",
                "additionalProperties": { "type": ["string", "number", "boolean"] }
            },
            "request": { "type": "string" },
            "transformRequest": { "type": "string" },
            "transformResponse": { "type": "string" },
            "responseParser": { "type": "string" },
            "sessionParser": { "type": "string" },
            "sessionSource": { "type": "string" },
            "validateStatus": { "type": ["string", "integer", "array"] },
            "vars": { "type": "object" },
            "auth": {
                "type": "object",
                "properties": { "type": { "enum": ["bearer", "basic", "api_key", "oauth", "oauth2"] } },
                "required": ["type"]
            }
        }
    })
}

/// What a schema cannot say: a JSON Pointer and a message for each.
pub(crate) fn problems(config: &Value) -> Vec<(String, String)> {
    let mut problems = plugin_model_api::knobs::problems(config, &REFUSED);
    let parts = multipart::problems(config).into_iter();
    let parts = parts.map(|(pointer, why)| {
        let message = format!("`{}{}` {why}", multipart::KEY, pointer.replace('/', "."));
        (format!("/{}{pointer}", multipart::KEY), message)
    });
    problems.extend(parts);
    let mut add =
        |key: &str, why: String| problems.push((format!("/{key}"), format!("`{key}` {why}")));
    for key in RESPONSE {
        if let Some(Err(why)) = config[key].as_str().map(Pick::read) {
            add(key, why);
        }
    }
    if let Some(Err(why)) = config.get("validateStatus").map(Accepted::read) {
        add("validateStatus", why);
    }
    if config["transformRequest"].as_str().is_some_and(is_code) {
        let why = "is JavaScript. A template works here, such as `{\"message\": \"{{prompt}}\"}`; it may also stand in `body`";
        add("transformRequest", why.to_owned());
    }
    if let Some(text) = config["request"].as_str() {
        if config.get("body").is_some() {
            add(
                "body",
                "stands beside `request`, which has its own".to_owned(),
            );
        }
        match raw::parse(text) {
            Err(why) => add("request", format!("is no request: {why}")),
            Ok(raw) => {
                for (name, _) in &raw.headers {
                    if name.eq_ignore_ascii_case("authorization") {
                        let why = "holds a key; write it under `headers` as `Authorization: …`, so that the runner adds it";
                        add("request", why.to_owned());
                    }
                }
            }
        }
    }
    problems
}

/// The names of one knob, the newest first.
const RESPONSE: [&str; 3] = ["transformResponse", "responseTransform", "responseParser"];

/// Code that the host did not take. JSON is none, whatever its texts say.
fn is_code(text: &str) -> bool {
    let text = text.trim();
    let is_json = || serde_json::from_str::<Value>(text).is_ok();
    text.starts_with("file://")
        || !is_json()
            && ["=>", "return ", "function", "JSON."]
                .iter()
                .any(|sign| text.contains(sign))
}

/// A config, read for one request.
pub(crate) struct Knobs {
    config: Map<String, Value>,
    url: String,
    accepted: Accepted,
    pub(crate) pick: Option<Pick>,
    /// Where the id of the session stands; an error: that is code.
    session: Option<Result<Pick, String>>,
    /// Whether the answer is the body as it came.
    pub(crate) raw: bool,
    /// Whether the host adds what `auth` says.
    pub(crate) has_auth: bool,
    /// Keys of the config that nobody reads.
    pub(crate) unknown: Vec<String>,
}

/// A request with its templates filled.
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Knobs {
    /// Reads the target's config and lays the request's options over it.
    pub(crate) fn read(target: &Target, request: &Request) -> Result<Self, Error> {
        let mut config: Map<String, Value> = target.config()?;
        let known = |key: &String| {
            KNOWN.contains(&key.as_str()) || REFUSED.iter().any(|(refused, _)| refused == key)
        };
        let unknown = config.keys().filter(|key| !known(key)).cloned().collect();
        if let Some(options) = &request.options_json {
            let options = json::read::<Map<String, Value>>("options", options)?;
            config.extend(options);
        }
        let text = |key: &str| config.get(key).and_then(Value::as_str);
        let is_address = |id: &&str| id.starts_with("http://") || id.starts_with("https://");
        let url = text("url").or(Some(target.id.as_str()).filter(is_address));
        let url = url.ok_or_else(|| {
            Error::invalid_request(
                "no address is set; write `url: https://…` in the provider's config",
            )
        })?;
        let invalid = |key: &str, why: String| Error::invalid_request(format!("`{key}` {why}"));
        let pick = RESPONSE.iter().find_map(|key| Some((*key, text(key)?)));
        let pick = pick
            .map(|(key, written)| Pick::read(written).map_err(|why| invalid(key, why)))
            .transpose()?;
        let accepted = config.get("validateStatus").map(Accepted::read).transpose();
        let accepted = accepted.map_err(|why| invalid("validateStatus", why))?;
        Ok(Self {
            raw: config.get(RAW) == Some(&Value::Bool(true)),
            has_auth: config.contains_key("auth"),
            url: url.to_owned(),
            accepted: accepted.unwrap_or_else(Accepted::success),
            pick,
            session: text("sessionParser").map(Pick::read_in_response),
            unknown,
            config,
        })
    }

    /// Whether a response of this status is an answer.
    pub(crate) fn accepts(&self, status: u16) -> bool {
        self.accepted.holds(status)
    }

    /// The id of the session that a response is part of, which stands in the metadata of the row. Its tests
    /// may be about other things, so one that is not found is a warning.
    pub(crate) fn session(&self, response: &http::Response) -> Option<Value> {
        let told = match self.session.as_ref()? {
            Ok(pick) => {
                let body = response.json().unwrap_or_else(|_| json!(response.text()));
                let whole = json!({ "body": body, "headers": headers(response) });
                let found = pick.from(Some(&whole), "");
                if found.is_some() {
                    return found;
                }
                "finds nothing in the response"
            }
            Err(_) => {
                "is code, which is not run; a path works, such as `data.body.id` or `data.headers['x-session']`"
            }
        };
        log::warn(format!(
            "`sessionParser` {told}; the row has no `sessionId`"
        ));
        None
    }

    /// Fills the templates.
    pub(crate) fn fill(&self, request: &Request) -> Result<Sent, Error> {
        let vars = self.config.get("vars").and_then(Value::as_object);
        let mut vars = vars.cloned().unwrap_or_default();
        vars.insert("prompt".to_owned(), json!(request.prompt));
        vars.extend(
            self.object(VARS)
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let mut filler = Filler::new(vars);
        let mut over = None;
        if let Some(made) = self.config.get(REQUEST) {
            // An object is laid over a body; a text that is the request has nothing below it.
            over = Some(made.clone()).filter(Value::is_object);
            // So has a form.
            if over.is_none() || self.text("request").is_some() || self.is_form() {
                let text = made
                    .as_str()
                    .map_or_else(|| made.to_string(), str::to_owned);
                filler.set_prompt(json!(text));
            }
        } else if let Some(template) = self.text("transformRequest") {
            if is_code(template) {
                return Err(Error::unsupported(
                    "`transformRequest` is JavaScript; a template works",
                ));
            }
            let value = if template.trim_start().starts_with(['{', '[']) {
                filler.loose("transformRequest", template)?
            } else {
                self.body("transformRequest", template, &[], &filler)?
            };
            over = Some(value.clone()).filter(Value::is_object);
            filler.set_prompt(value);
        }
        let mut sent = match self.text("request") {
            Some(text) => self.raw(text, &filler)?,
            None => self.parts(&filler, over)?,
        };
        self.set_headers(&mut sent, &filler)?;
        let pairs: Vec<(String, String)> = self
            .object("queryParams")
            .map(|(name, value)| {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                Ok((name.clone(), filler.within("queryParams", &text)?))
            })
            .collect::<Result<_, Error>>()?;
        if !pairs.is_empty() {
            let sign = if sent.url.contains('?') { '&' } else { '?' };
            sent.url = format!("{}{sign}{}", sent.url, render::query(&pairs));
        }
        Ok(sent)
    }

    /// Sets the headers of the config, which stand over those of a request.
    fn set_headers(&self, sent: &mut Sent, filler: &Filler) -> Result<(), Error> {
        let is_in_parts = self.is_form();
        for (name, value) in self.object("headers") {
            // That of parts says what separates them.
            if is_in_parts && name.eq_ignore_ascii_case("content-type") {
                continue;
            }
            let value = value.as_str().unwrap_or_default();
            sent.headers
                .retain(|(there, _)| !there.eq_ignore_ascii_case(name));
            sent.headers
                .push((name.clone(), filler.within("headers", value)?));
        }
        Ok(())
    }

    /// Whether the body is a form with files.
    fn is_form(&self) -> bool {
        self.config
            .get(multipart::KEY)
            .is_some_and(|it| !it.is_null())
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.config.get(key).and_then(Value::as_str)
    }

    fn object(&self, key: &str) -> impl Iterator<Item = (&String, &Value)> {
        let object = self.config.get(key).and_then(Value::as_object);
        object.into_iter().flatten()
    }

    /// A request that the config gives in parts. `over` is laid over an object as its body.
    fn parts(&self, filler: &Filler, over: Option<Value>) -> Result<Sent, Error> {
        if let Some(written) = self.config.get(multipart::KEY).filter(|it| !it.is_null()) {
            let (body, kind) = multipart::body(written, filler)?;
            return Ok(Sent {
                method: self.text("method").unwrap_or("POST").to_ascii_uppercase(),
                url: filler.url(&self.url)?,
                headers: vec![("content-type".to_owned(), kind)],
                body: Some(body),
            });
        }
        let body = match self.config.get("body") {
            Some(Value::String(template)) => Some(self.body("body", template, &[], filler)?),
            Some(Value::Null) | None => None,
            Some(value) => Some(filler.value("body", value)?),
        };
        let body = match (body, over) {
            (Some(Value::Object(mut body)), Some(Value::Object(over))) => {
                body.extend(over);
                Some(Value::Object(body))
            }
            (body, over) => body.or(over),
        };
        let usual = if body.is_some() { "POST" } else { "GET" };
        let mut sent = Sent {
            method: self.text("method").unwrap_or(usual).to_ascii_uppercase(),
            url: filler.url(&self.url)?,
            headers: Vec::new(),
            body: None,
        };
        sent.set_body(body);
        Ok(sent)
    }

    /// A body that is a text. Whether it is a form, these headers and those of the config say.
    fn body(
        &self,
        what: &str,
        template: &str,
        headers: &[(&str, &str)],
        filler: &Filler,
    ) -> Result<Value, Error> {
        let own = self.object("headers");
        let own = own.filter_map(|(name, value)| Some((&**name, value.as_str()?)));
        let mut kinds = own
            .chain(headers.iter().copied())
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let is_form = kinds.try_fold(false, |is_form, (_, value)| {
            let kind = filler.text("headers", value)?.to_ascii_lowercase();
            Ok::<_, Error>(is_form || kind.contains("x-www-form-urlencoded"))
        })?;
        if is_form {
            return filler.form(what, template).map(Value::String);
        }
        filler.loose(what, template)
    }

    /// A request that the config gives as text, below the address of `url`.
    fn raw(&self, text: &str, filler: &Filler) -> Result<Sent, Error> {
        let Raw {
            method,
            target,
            headers,
            body,
        } = raw::parse(text)
            .map_err(|why| Error::invalid_request(format!("`request` is no request: {why}")))?;
        let url = if target.starts_with('/') {
            format!("{}{target}", origin(&self.url))
        } else {
            target.to_owned()
        };
        let mut sent = Sent {
            method: method.to_owned(),
            url: filler.url(&url)?,
            headers: Vec::new(),
            body: None,
        };
        let body = body.map(|body| self.body("request", body, &headers, filler));
        sent.set_body(body.transpose()?);
        for (name, value) in headers {
            if IMPLIED
                .iter()
                .any(|implied| name.eq_ignore_ascii_case(implied))
            {
                continue;
            }
            sent.headers
                .retain(|(there, _)| !there.eq_ignore_ascii_case(name));
            sent.headers
                .push((name.to_owned(), filler.within("request", value)?));
        }
        Ok(sent)
    }
}

impl Sent {
    /// Sets the body: a JSON value with its type, a text as it is.
    fn set_body(&mut self, body: Option<Value>) {
        self.body = match body {
            None => None,
            Some(Value::String(text)) => Some(text.into_bytes()),
            Some(value) => {
                let kind = ("content-type".to_owned(), "application/json".to_owned());
                self.headers.push(kind);
                Some(value.to_string().into_bytes())
            }
        };
    }
}

/// Headers of a response by name; those of one name in one text.
pub(crate) fn headers(response: &http::Response) -> Map<String, Value> {
    let mut headers = Map::new();
    for (name, value) in &response.headers {
        match headers.get_mut(name) {
            Some(Value::String(more)) => {
                more.push_str(", ");
                more.push_str(value);
            }
            _ => drop(headers.insert(name.clone(), json!(value))),
        }
    }
    headers
}

/// Scheme and host of an address.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| host + at);
    &url[..end]
}
