//! What the words of failures mean, in more words than a row has room for.
//!
//! Those that begin with `C` are explained beside the codes of the sandbox; these are the others.

use runner_sandbox::Explanation;

/// The word of each failure that is no fault of a component, with what it means.
pub fn explained() -> impl Iterator<Item = (&'static str, &'static Explanation)> {
    TABLE.iter().map(|(word, explanation)| (*word, explanation))
}

const fn row(
    word: &'static str,
    what: &'static str,
    why: &'static str,
    todo: &'static str,
) -> (&'static str, Explanation) {
    (word, Explanation { what, why, todo })
}

const TABLE: [(&str, Explanation); 23] = [
    row(
        "invalid-request",
        "The API says that the request is wrong.",
        "An option that the model does not have, a message of the wrong form, an image that is too large. To send it again would end in the same way.",
        "The API's own words stand in the row. Mend the provider's `config` or the prompt; `runner plugin docs NAME` says what a plugin of the program takes.",
    ),
    row(
        "auth",
        "The API refused the key, or there was none to send.",
        "It answered 401 or 403: the key is wrong, has expired, or may not use this model.",
        "Look at the environment variable that the message names, and at what the account may use. Then `runner retry` runs the errors again.",
    ),
    row(
        "rate-limited",
        "The API went on asking to slow down.",
        "Such answers are waited out and tried again, and the lane learns from them. This request was refused each time until its tries were used up.",
        "`runner retry` runs the errors again. If something else uses the same quota, declare your share of it with `limits:`; `maxRetries` allows more tries.",
    ),
    row(
        "quota-exhausted",
        "The account's quota or credit is used up.",
        "That is no matter of seconds, so it is not tried again, and other requests with the same key are held back.",
        "Look at the account's billing page. When there is credit again, `runner retry` runs the errors.",
    ),
    row(
        "not-found",
        "There is no such model, or nothing at this address.",
        "The name is misspelt, the model was retired, the account can't see it, or the base URL leads elsewhere.",
        "Look at the provider's id and its base URL.",
    ),
    row(
        "context-length",
        "The prompt is longer than the model takes.",
        "Prompt, history and requested answer together have to fit into the model's context.",
        "Shorten the prompt, ask for a shorter answer, or choose a model with a larger context.",
    ),
    row(
        "content-filter",
        "The API refused the request by its policy.",
        "The request was blocked before a model answered. A model that answers with a refusal is no error: that is an answer, which `is-refusal` grades.",
        "Change the prompt, or the filter's settings where the API has some.",
    ),
    row(
        "timeout",
        "A limit of time passed.",
        "The API was silent for too long, or the case took longer than `timeoutMs` (`--timeout-ms`), in which only work counts and no waiting for a rate limit.",
        "Allow more time, or ask for shorter answers. `runner retry` runs the errors again.",
    ),
    row(
        "transient",
        "The API failed in a way that passes, at every try.",
        "A status of 500 and above, a connection that broke off, an answer that was cut short. Each try was some time after the one before it.",
        "Look at the API's status page. `runner retry` runs the errors again.",
    ),
    row(
        "bad-response",
        "The answer is not what the plugin can read.",
        "The server answered with something else than its API says: another form, no text, a page of a proxy.",
        "`runner show --test N` shows the raw response. Look at the base URL, or report it to the plugin's author.",
    ),
    row(
        "denied",
        "The plugin asked for what it is not granted.",
        "It wanted an address, a key or a provider that the config does not grant it, or that may not be used from where it stands. Nothing was sent.",
        "If you trust it with that, grant it under `plugins:` (`permissions`). An address of a private network needs your agreement: `runner trust`.",
    ),
    row(
        "call-budget",
        "The plugin used up what one of its calls may use.",
        "A call may send so many requests and ask so many models. No larger budget of the run helps.",
        "Report it to the plugin's author with the row.",
    ),
    row(
        "unsupported",
        "The plugin can't do what was asked of it.",
        "For example images for a model of texts, or embeddings of a provider that has none.",
        "Choose another provider for this test.",
    ),
    row(
        "other",
        "The plugin failed for a reason that has no word of its own.",
        "Its message says more.",
        "Read the message in the row, and report it to the plugin's author if it makes no sense.",
    ),
    row(
        "human",
        "The case waits for a person's verdict.",
        "Its test has an assertion of the type `human`, and what a person says decides it. Until then the case is not passed; it is no error, and `runner retry` does not run it again.",
        "Open the case in `runner view` and give it a thumb, or a score; or import a results file with annotations.",
    ),
    row(
        "budget",
        "A budget of yours is used up.",
        "`budget:`, `--max-cost`, `--max-tokens` or `--max-requests` bound what a session spends. The cases that were left end so, without a request.",
        "`runner eval --resume` runs what is left, with the same budget again or the one that you give it.",
    ),
    row(
        "question-budget",
        "The question used more than a question may.",
        "`tasks[].budget` says what each question may use. Whatever it answered counts as failed.",
        "Raise the budget of the task, or give the model less to do.",
    ),
    row(
        "cancelled",
        "The run ended before there was a result.",
        "It was interrupted, or its time was over. The case counts as not run.",
        "`runner eval --resume` goes on where it stopped.",
    ),
    row(
        "template",
        "A template can't be filled in.",
        "A variable that it needs is missing, or a filter failed on its value.",
        "The message says where. Mend the template or the test's variables.",
    ),
    row(
        "script",
        "Code of the config failed.",
        "It threw an error, gave something of the wrong form, or did not end in time.",
        "The message has the code's own words and its line. `runner config check` says where each piece of code runs.",
    ),
    row(
        "nothing-to-compare",
        "A comparison of columns had one answer or none.",
        "The other columns of the test ended in errors, so there was nothing to choose from.",
        "`runner retry` runs the errors again, and the row is compared then.",
    ),
    row(
        "too-large",
        "Something is larger than a row may be.",
        "Answers, prompts and variables of a case are kept together, and the memory for that is bounded.",
        "Ask for shorter answers, or give the test less data.",
    ),
    row(
        "internal",
        "This program has a bug.",
        "A case's task failed by itself. The other cases went on.",
        "Please report it, with the message in the row and what you ran.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureCode;

    #[test]
    fn every_word_is_explained_by_sentences_and_no_other_is() {
        let codes = FailureCode::known().filter(|code| !matches!(code, FailureCode::Sandbox(_)));
        let mut expected: Vec<String> = codes.map(|code| code.word().into_owned()).collect();
        let mut words: Vec<&str> = explained().map(|(word, _)| word).collect();
        expected.sort();
        words.sort_unstable();
        assert_eq!(words, expected);
        for (word, Explanation { what, why, todo }) in explained() {
            for text in [what, why, todo] {
                assert!(text.ends_with('.') && text.len() > 15, "{word}: {text}");
            }
        }
    }
}
