//! What a grader has before it: the answer, the case's variables and prompt, the knobs. And
//! the one place that asks models, so that what asking costs is counted once.

use std::cell::RefCell;

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::llm::{self, Answer};
use runner_plugin::{Error, Input, Request, Role};

use crate::chat::{Prompt, Rendered};
use crate::knobs::Knobs;
use crate::template::Names;
use crate::verdict::Failure;

/// Alias of the text model that judges.
pub(crate) const GRADER: &str = "grader";
/// Alias of the model that makes vectors.
pub(crate) const EMBEDDING: &str = "embedding";
/// Alias of the provider that sorts into classes.
pub(crate) const CLASSIFIER: &str = "classifier";
/// Alias of the provider that flags harmful content.
pub(crate) const MODERATION: &str = "moderation";

/// One answer that is to be graded.
pub(crate) struct Bench<'a> {
    pub(crate) input: &'a Input,
    pub(crate) vars: Map<String, Value>,
    pub(crate) knobs: Knobs,
    ledger: RefCell<Ledger>,
}

/// What asking has cost so far.
#[derive(Debug, Default)]
struct Ledger {
    requests: u64,
    prompt: u64,
    completion: u64,
    total: u64,
    cached: u64,
    /// What judges replied, as far as it is kept.
    replies: Vec<Value>,
}

/// Replies of judges that are kept with a grade, and characters of each.
const MOST_REPLIES: usize = 8;
const REPLY: usize = 4000;

/// What a model replied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Text(String),
    /// The provider gave a JSON value instead of text.
    Json(Value),
}

impl<'a> Bench<'a> {
    pub(crate) fn new(input: &'a Input) -> Result<Self, Error> {
        let vars = match &input.vars_json {
            Some(text) => json::read("the test's variables", text)?,
            None => Map::new(),
        };
        Ok(Self {
            input,
            vars,
            knobs: Knobs::read(input)?,
            ledger: RefCell::default(),
        })
    }

    pub(crate) fn kind(&self) -> &'a str {
        &self.input.type_
    }

    pub(crate) fn threshold_or(&self, default: f64) -> f64 {
        self.input.threshold.unwrap_or(default)
    }

    /// Something about the assertion is not as it must be.
    pub(crate) fn refuse(&self, what: &str) -> Failure {
        Error::invalid_request(format!("`{}` {what}", self.kind())).into()
    }

    /// The value, which must be a text that is not empty.
    pub(crate) fn text_value(&self) -> Result<String, Failure> {
        match self.input.value()? {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            _ => Err(self.refuse("takes a text as its value")),
        }
    }

    /// The value, which must be a text or a list of texts.
    pub(crate) fn texts_value(&self) -> Result<Vec<String>, Failure> {
        let wrong = || self.refuse("takes a text or a list of texts as its value");
        match self.input.value()? {
            Some(Value::String(text)) if !text.is_empty() => Ok(vec![text]),
            Some(Value::Array(items)) if !items.is_empty() => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect(),
            _ => Err(wrong()),
        }
    }

    /// What the answer was an answer to: the text of a prompt of one message, a chat as JSON.
    pub(crate) fn prompt(&self) -> Result<String, Failure> {
        match &self.input.prompt[..] {
            [] => Err(self.refuse("needs the prompt, which is not there")),
            [message] => Ok(message.text()),
            messages => {
                let chat = messages.iter().map(
                    |message| json!({ "role": message.role.word(), "content": message.text() }),
                );
                Ok(chat.collect::<Value>().to_string())
            }
        }
    }

    /// What the user said last, for what looks at one question alone.
    pub(crate) fn last_question(&self) -> Result<String, Failure> {
        let said = |role: Role| role == Role::User;
        match self.input.prompt.iter().rfind(|message| said(message.role)) {
            Some(message) => Ok(message.text()),
            None => self.prompt(),
        }
    }

    /// `vars.query`, which must be there.
    pub(crate) fn query(&self) -> Result<&str, Failure> {
        self.vars
            .get("query")
            .and_then(Value::as_str)
            .ok_or_else(|| self.refuse("needs the variable `query`, the user's question"))
    }

    /// The names of a question of ours. They win over the test's variables; in a prompt of the
    /// user's the variables win, since that is what it was written for.
    pub(crate) fn names(&self, own: Names) -> Names {
        if self.knobs.rubric_prompt.is_some() {
            own.over(&self.vars)
        } else {
            own.under(&self.vars)
        }
    }

    /// The question of a type: the user's `rubricPrompt` if there is one, else `own`.
    pub(crate) fn prompt_or(&self, own: Prompt) -> Result<Prompt, Failure> {
        match &self.knobs.rubric_prompt {
            Some(written) => Ok(Prompt::written(written)?),
            None => Ok(own),
        }
    }

    /// Asks the grader once.
    pub(crate) fn ask(&self, question: &Rendered) -> Result<Reply, Failure> {
        self.complete(GRADER, &question.request())
    }

    /// Asks the grader several times at once.
    pub(crate) fn ask_all(&self, questions: &[Rendered]) -> Vec<Result<Reply, Failure>> {
        let requests: Vec<Request> = questions.iter().map(Rendered::request).collect();
        llm::complete_all(GRADER, &requests)
            .into_iter()
            .map(|answer| self.take(GRADER, answer))
            .collect()
    }

    /// Asks any alias once.
    pub(crate) fn complete(&self, alias: &str, request: &Request) -> Result<Reply, Failure> {
        self.take(alias, llm::complete(alias, request))
    }

    /// Asks any alias once; the reply comes with what the provider says of it, null if nothing.
    pub(crate) fn told(&self, alias: &str, request: &Request) -> Result<(Reply, Value), Failure> {
        let answer = llm::complete(alias, request);
        let metadata = answer
            .as_ref()
            .ok()
            .and_then(|it| it.completion.metadata_json.as_deref());
        let metadata = metadata.and_then(|text| serde_json::from_str(text).ok());
        let metadata = metadata.unwrap_or_default();
        Ok((self.take(alias, answer)?, metadata))
    }

    /// One vector for each text, all of one length. The contract reports no tokens for it.
    pub(crate) fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let vectors =
            llm::embed(EMBEDDING, texts).map_err(|error| Failure::asking(EMBEDDING, error))?;
        self.ledger.borrow_mut().requests += 1;
        let first = vectors.first().map_or(0, Vec::len);
        if vectors.len() != texts.len() {
            let (wanted, got) = (texts.len(), vectors.len());
            return Err(Failure::unreadable(format_args!(
                "the embedding gave {got} vectors for {wanted} texts"
            )));
        }
        if first == 0 || vectors.iter().any(|vector| vector.len() != first) {
            return Err(Failure::unreadable(
                "the embedding gave vectors that are empty or differ in length",
            ));
        }
        Ok(vectors)
    }

    /// What asking has cost, as a result's `tokensUsed`, and what judges replied (`judgeReplies`); nothing if nothing
    /// was asked.
    pub(crate) fn used(&self) -> Map<String, Value> {
        let ledger = self.ledger.borrow();
        let mut used = Map::new();
        if ledger.requests > 0 {
            let tokens = json!({
                "total": ledger.total,
                "prompt": ledger.prompt,
                "completion": ledger.completion,
                "cached": ledger.cached,
                "numRequests": ledger.requests,
            });
            used.insert("tokensUsed".to_owned(), tokens);
        }
        if !ledger.replies.is_empty() {
            let replies = ledger.replies.clone();
            used.insert("judgeReplies".to_owned(), Value::Array(replies));
        }
        used
    }

    fn take(&self, alias: &str, answer: Result<Answer, Error>) -> Result<Reply, Failure> {
        let answer = answer.map_err(|error| Failure::asking(alias, error))?;
        self.ledger.borrow_mut().add(&answer);
        if alias == GRADER {
            self.ledger.borrow_mut().keep(&answer);
        }
        let completion = answer.completion;
        let output = match completion.output_json {
            Some(text) => json::read::<Value>("the reply", &text)
                .map_err(|error| Failure::asking(alias, error))?,
            None => Value::String(completion.message.text()),
        };
        match output {
            Value::String(text) if text.trim().is_empty() => Err(Failure::unreadable(
                format_args!("the {alias} gave no output"),
            )),
            Value::String(text) => Ok(Reply::Text(text)),
            value => Ok(Reply::Json(value)),
        }
    }
}

impl Ledger {
    /// Keeps what a judge replied, and which model it says to be.
    fn keep(&mut self, answer: &Answer) {
        if self.replies.len() == MOST_REPLIES {
            return;
        }
        let completion = &answer.completion;
        let text = match &completion.output_json {
            Some(json) => json.clone(),
            None => completion.message.text(),
        };
        let mut reply = json!({ "text": cut(&text, REPLY) });
        if let Some(model) = &completion.model {
            reply["model"] = json!(model);
        }
        self.replies.push(reply);
    }

    fn add(&mut self, answer: &Answer) {
        let usage = &answer.completion.usage;
        let (prompt, completion) = (
            usage.input_tokens.unwrap_or(0),
            usage.output_tokens.unwrap_or(0),
        );
        let total = usage
            .total_tokens
            .unwrap_or_else(|| prompt.saturating_add(completion));
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.requests, 1);
        add(&mut self.prompt, prompt);
        add(&mut self.completion, completion);
        add(&mut self.total, total);
        if answer.cached {
            add(&mut self.cached, total);
        }
    }
}

impl Reply {
    /// The reply as text; a JSON value is no text.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Json(value) => Err(Failure::unreadable(format_args!(
                "the grader replied with JSON where text was asked for: {}",
                excerpt(&value.to_string())
            ))),
        }
    }
}

/// How a reply begins, for reasons.
pub(crate) fn excerpt(text: &str) -> String {
    cut(text.trim(), 500)
}

/// A text of so many characters at most.
fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
