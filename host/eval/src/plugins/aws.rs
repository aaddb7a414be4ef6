//! Where a key of AWS is found. It has two parts or three, so that it stands in as many keys of a
//! config or variables; or in the file in which AWS's own programs keep it.
//!
//! The file is the person's, and so is the choice among its profiles: a config names none. What comes
//! out of it counts as the variable that would hold it, so that it goes nowhere where that would not.
//! Profiles without a key of their own (single sign-on, roles, other programs) are not resolved: AWS's
//! command line exports what they stand for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use runner_gateway::{Scheme, Secret};
use serde_json::{Map, Value};

/// The end of the name of the variable that holds what signs.
const SECRET: &str = "SECRET_ACCESS_KEY";

/// The ends of those of its name and of the session's token.
const ID: &str = "ACCESS_KEY_ID";
const TOKEN: &str = "SESSION_TOKEN";

/// The region of whoever names none, as the plugins have it.
const USUAL_REGION: &str = "us-east-1";

/// The largest file of keys that is read, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// A key, or what is wrong with it.
pub(super) type FoundKey = (Option<Result<Secret, String>>, Vec<String>);

/// A variable, and if it holds what signs for AWS those beside it that hold the other parts.
pub(super) fn beside(env: &str) -> Vec<String> {
    let stem = env.strip_suffix(SECRET);
    let others = stem.into_iter().flat_map(|stem| {
        let others = [ID, TOKEN];
        others.map(|end| format!("{stem}{end}"))
    });
    others.chain([env.to_owned()]).collect()
}

/// A scheme of AWS for the config's region; others as they are.
pub(super) fn in_region(scheme: Scheme, config: &Map<String, Value>) -> Scheme {
    let Scheme::AwsSigV4 {
        service,
        region: None,
    } = scheme
    else {
        return scheme;
    };
    let region = config.get("region").and_then(Value::as_str);
    Scheme::AwsSigV4 {
        service,
        region: Some(region.unwrap_or(USUAL_REGION).to_owned()),
    }
}

/// The key that the config says, that stands in `env` and the variables beside it, or in the person's
/// file, as `persons` environment says; with the variables that it is made of.
pub(super) fn found(
    env: &str,
    config: &mut Map<String, Value>,
    persons: &BTreeMap<String, String>,
    variable: impl Fn(&str) -> Option<(String, Vec<String>)>,
) -> FoundKey {
    let keys = ["accessKeyId", "secretAccessKey", "sessionToken"];
    let written = keys.map(|key| match config.remove(key) {
        Some(Value::String(value)) if !value.is_empty() => Some(value),
        _ => None,
    });
    match &written {
        [Some(id), Some(secret), token] => {
            return (Some(key(id, secret, token.as_deref())), Vec::new());
        }
        [None, None, None] => {}
        _ => {
            let problem = "`accessKeyId` and `secretAccessKey` are one key; write both";
            return (Some(Err(problem.to_owned())), Vec::new());
        }
    }
    let found = of_variables(env, variable);
    if found.0.is_some() {
        return found;
    }
    let profile = profile(persons).unwrap_or_default();
    let part = |name: &str| profile.get(name).map(String::as_str);
    match (part("aws_access_key_id"), part("aws_secret_access_key")) {
        (Some(id), Some(secret)) => {
            let key = key(id, secret, part("aws_session_token"));
            (Some(key), beside(env))
        }
        _ => (None, Vec::new()),
    }
}

/// The person's profile in their own file, with its members.
fn profile(persons: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    let variable = |name: &str| persons.get(name).filter(|value| !value.is_empty());
    let path = match variable("AWS_SHARED_CREDENTIALS_FILE") {
        Some(path) => PathBuf::from(path),
        None => home(persons)?.join(".aws").join("credentials"),
    };
    let text = small_file(&path)?;
    section(
        &text,
        variable("AWS_PROFILE").map_or("default", String::as_str),
    )
}

/// The person's home folder, as their environment says.
pub(super) fn home(persons: &BTreeMap<String, String>) -> Option<PathBuf> {
    let names = ["HOME", "USERPROFILE"];
    let mut homes = names.iter().filter_map(|name| persons.get(*name));
    homes.find(|home| !home.is_empty()).map(PathBuf::from)
}

/// The key that stands in `env` and the variables beside it.
pub(super) fn of_variables(
    env: &str,
    variable: impl Fn(&str) -> Option<(String, Vec<String>)>,
) -> FoundKey {
    let Some(stem) = env.strip_suffix(SECRET) else {
        let problem = format!("the variable of a key of AWS ends with {SECRET}, unlike {env}");
        return (Some(Err(problem)), Vec::new());
    };
    let [id, secret, token] = [ID, SECRET, TOKEN].map(|end| variable(&format!("{stem}{end}")));
    let (Some((id, of_id)), Some((secret, of_secret))) = (id, secret) else {
        return (None, Vec::new());
    };
    let (token, of_token) = token.unzip();
    let takes = [of_id, of_secret, of_token.unwrap_or_default()].concat();
    (Some(key(&id, &secret, token.as_deref())), takes)
}

/// The text of a file of the person's; `None` where there is none that is one.
pub(super) fn small_file(path: &std::path::Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    let is_small = about.is_file() && about.len() <= FILE_LIMIT;
    is_small.then(|| std::fs::read_to_string(path).ok())?
}

fn key(id: &str, secret: &str, token: Option<&str>) -> Result<Secret, String> {
    Secret::aws(id, secret, token).map_err(|why| format!("the key of AWS {why}"))
}

/// The members of one section of a file of AWS's: `[name]`, then `key = value` a line.
fn section(text: &str, name: &str) -> Option<BTreeMap<String, String>> {
    let head = |line: &str| {
        let inner = line.trim().strip_prefix('[')?.strip_suffix(']')?;
        Some(inner.trim().to_owned())
    };
    let mut lines = text.lines();
    lines.find(|line| head(line).as_deref() == Some(name))?;
    let members = lines.take_while(|line| head(line).is_none());
    let members = members.filter(|line| !line.trim_start().starts_with(['#', ';']));
    let members = members.filter_map(|line| line.split_once('='));
    let member =
        |(key, value): (&str, &str)| (key.trim().to_ascii_lowercase(), value.trim().to_owned());
    Some(members.map(member).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_the_section_of_its_name_alone() {
        let text = "[default]\naws_access_key_id = AKID\n# aws_session_token = old\n\
                    AWS_SECRET_ACCESS_KEY=a=b\n\n[ other ]\naws_access_key_id=OTHER\n";
        let profile = |name: &str| section(text, name);
        let default = profile("default").expect("it is there");
        assert_eq!(default["aws_access_key_id"], "AKID");
        assert_eq!(default["aws_secret_access_key"], "a=b");
        assert_eq!(default.len(), 2);
        assert_eq!(
            profile("other").expect("there")["aws_access_key_id"],
            "OTHER"
        );
        assert_eq!(profile("none"), None);
    }

    #[test]
    fn the_parts_of_a_key_stand_beside_each_other() {
        let expected = [
            "MY_ACCESS_KEY_ID",
            "MY_SESSION_TOKEN",
            "MY_SECRET_ACCESS_KEY",
        ];
        assert_eq!(beside("MY_SECRET_ACCESS_KEY"), expected);
        assert_eq!(beside("OPENAI_API_KEY"), ["OPENAI_API_KEY"]);
    }

    #[test]
    fn a_scheme_of_aws_gets_the_configs_region() {
        let config = |region: &str| Map::from_iter([("region".to_owned(), Value::from(region))]);
        let shown = |scheme: &str, config: &Map<String, Value>| {
            let scheme = Scheme::parse(scheme).expect("a scheme");
            in_region(scheme, config).to_string()
        };
        let eu = config("eu-west-1");
        assert_eq!(
            shown("aws-sigv4:bedrock", &eu),
            "aws-sigv4:bedrock:eu-west-1"
        );
        assert_eq!(shown("bearer", &eu), "bearer");
        assert_eq!(
            shown("aws-sigv4:bedrock", &Map::new()),
            "aws-sigv4:bedrock:us-east-1"
        );
    }
}
