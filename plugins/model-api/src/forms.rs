//! What an id asks for that its provider does not do, in the words that all providers have for it.

use runner_plugin::{Error, Target};

use crate::knobs;

/// Of a target that makes vectors and was asked a prompt.
#[must_use]
pub fn makes_vectors(target: &Target) -> Error {
    let id = &target.id;
    Error::unsupported(format!(
        "`{id}` makes vectors and answers no prompts; name it as the provider of `similar`"
    ))
}

/// Of a target that answers prompts and was asked for vectors; `instead` is an id that makes some.
#[must_use]
pub fn no_vectors(target: &Target, instead: &str) -> Error {
    let id = &target.id;
    Error::unsupported(format!("`{id}` makes no vectors; write `{instead}`"))
}

/// Of a target of a form that there is not; `instead` says what to do.
#[must_use]
pub fn absent(target: &Target, form: &str, instead: &str) -> Error {
    let id = &target.id;
    Error::unsupported(format!(
        "`{id}` is not supported: the plugin has no form `{form}`; {instead}"
    ))
}

/// Refuses forms that promptfoo knows and the plugin does not.
///
/// # Errors
/// When the target is of one of them.
pub fn refuse(target: &Target, forms: &[&'static str], instead: &str) -> Result<(), Error> {
    let (form, _) = knobs::kind(&target.name, forms);
    form.map_or(Ok(()), |form| Err(absent(target, form, instead)))
}

#[cfg(test)]
mod tests {
    use runner_plugin::ErrorCode;
    use runner_plugin::json::json;
    use runner_plugin::testing::target;

    use super::*;

    #[test]
    fn what_is_not_done_is_said_with_what_is() {
        let target = target("acme:realtime:m", &json!({}));
        let refused = |forms| refuse(&target, forms, "write `acme:MODEL`");
        let told = [
            makes_vectors(&target),
            no_vectors(&target, "acme:embedding:MODEL"),
            refused(&["realtime"]).expect_err("it is one of them"),
        ];
        assert!(told.iter().all(|it| it.code == ErrorCode::Unsupported));
        assert_eq!(
            told.map(|it| it.message),
            [
                "`acme:realtime:m` makes vectors and answers no prompts; name it as the provider of `similar`",
                "`acme:realtime:m` makes no vectors; write `acme:embedding:MODEL`",
                "`acme:realtime:m` is not supported: the plugin has no form `realtime`; write `acme:MODEL`",
            ]
        );
        assert_eq!(refused(&["assistant"]), Ok(()));
    }
}
