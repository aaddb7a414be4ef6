//! Where a deployment is: the resource's address, the path to the deployment, the version.

use plugin_model_api::knobs::Knobs;
use plugin_model_api::path::{encoded, segment};
use runner_plugin::Error;
use runner_plugin::json::Value;

/// The version of the API if the config names none: the newest that is not a preview.
const VERSION: &str = "2024-10-21";

/// The version for assistants: the first that tells the events of a run. They were never more than a
/// preview.
const VERSION_OF_ASSISTANTS: &str = "2024-05-01-preview";

/// Where a thread is created and run at once.
const RUNS: &str = "/threads/runs";

/// The config key of a project's address.
pub(crate) const PROJECT: &str = "projectUrl";

/// The version for agents that have an id.
const VERSION_OF_AGENTS: &str = "v1";

/// The end of addresses that are as OpenAI's own.
const LIKE_OPENAI: &str = "/openai/v1";

/// A deployment's place below the address in the knobs.
pub(crate) struct Place {
    /// The deployment is named in the body and not in the address.
    pub(crate) names_model: bool,
    deployment: String,
    query: String,
}

impl Place {
    /// Sets the address in the knobs and says what comes behind it.
    pub(crate) fn find(knobs: &mut Knobs, deployment: &str) -> Result<Self, Error> {
        let like_openai = resource(knobs)?;
        let version = knobs.text("apiVersion");
        let version = version.or((!like_openai).then_some(VERSION));
        Ok(Self {
            names_model: like_openai,
            deployment: segment(deployment)?,
            query: query(version),
        })
    }

    /// The path to an operation, with the version.
    pub(crate) fn path(&self, operation: &str) -> String {
        let query = &self.query;
        if self.names_model {
            return format!("/{operation}{query}");
        }
        format!("/openai/deployments/{}/{operation}{query}", self.deployment)
    }
}

/// Sets the resource's address in the knobs, and says whether it is as OpenAI's own.
fn resource(knobs: &mut Knobs) -> Result<bool, Error> {
    if knobs.base_url.is_empty() {
        knobs.base_url = knobs.text("apiHost").map(of_host).ok_or_else(|| {
            Error::invalid_request(
                "no address is set; write `apiHost: RESOURCE.openai.azure.com` in the provider's config, or set AZURE_API_HOST",
            )
        })?;
    }
    Ok(knobs.base_url.ends_with(LIKE_OPENAI))
}

fn query(version: Option<&str>) -> String {
    version.map_or_else(String::new, |version| {
        format!("?api-version={}", encoded(version))
    })
}

/// Sets the resource's address in the knobs and says where assistants are run.
pub(crate) fn of_assistants(knobs: &mut Knobs) -> Result<String, Error> {
    let like_openai = resource(knobs)?;
    let version = knobs.text("apiVersion");
    let version = query(version.or((!like_openai).then_some(VERSION_OF_ASSISTANTS)));
    let folder = if like_openai { "" } else { "/openai" };
    Ok(format!("{folder}{RUNS}{version}"))
}

/// Sets the address of a project in the knobs.
pub(crate) fn of_project(knobs: &mut Knobs) -> Result<(), Error> {
    if knobs.base_url.is_empty() {
        knobs.base_url = knobs.text(PROJECT).map(of_host).ok_or_else(|| {
            Error::invalid_request(
                "no project is named; write `projectUrl: https://RESOURCE.services.ai.azure.com/api/projects/PROJECT` in the provider's config, or set AZURE_AI_PROJECT_URL",
            )
        })?;
    }
    Ok(())
}

/// Where agents of a project that have an id are run.
pub(crate) fn of_agents(knobs: &Knobs) -> String {
    let version = knobs.text("apiVersion").unwrap_or(VERSION_OF_AGENTS);
    format!("{RUNS}{}", query(Some(version)))
}

/// The address of a host name, which people also write as an address.
fn of_host(host: &str) -> String {
    let bare = host.trim_start_matches("https://").trim_end_matches('/');
    format!("https://{bare}")
}

/// What is wrong with the host: it ends an address early, so that what comes behind it would be no
/// part of the path; or it is another than that of the address beside it, and requests would go to
/// the one that the user does not mean.
pub(crate) fn problems(config: &Value) -> Vec<(String, String)> {
    let names = [
        ("apiHost", "AZURE_API_HOST and AZURE_API_BASE_URL fill them"),
        (PROJECT, "AZURE_AI_PROJECT_URL fills the first"),
    ];
    let problem = |(key, filled): (&str, &str)| {
        let host = of_host(config[key].as_str()?);
        if host.contains(['?', '#', '\\']) {
            let message = format!("`{key}` is an address, and has no `?`, no `#` and no `\\`");
            return Some((format!("/{key}"), message));
        }
        let base_url = config["apiBaseUrl"].as_str()?;
        let same = base_url
            .strip_prefix(&host)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        (!same).then(|| {
            let message = format!(
                "`{key}` and `apiBaseUrl` name two addresses; leave one of them out ({filled})"
            );
            (format!("/{key}"), message)
        })
    };
    names.into_iter().filter_map(problem).collect()
}
