//! The provider `databricks`: models that a workspace of Databricks serves.
//!
//! OpenAI's shape, in `plugin-model-api`. It is a plugin of its own, and no row of `compatible`, since
//! configs name the workspace under a key of its own: a plugin has one key that says where its
//! requests go, and so where the token may.

use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::{chat, forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};

/// The name by which requests refer to the token.
const KEY: &str = "databricks-key";

/// The config key of the address.
const WORKSPACE: &str = "workspaceUrl";

/// Where a workspace has its models.
const ENDPOINTS: &str = "/serving-endpoints";

const API: Api = Api {
    base_url: "",
    key: Some(KEY),
    ours: &[WORKSPACE, "aiGatewayConfig", "isPayPerToken"],
};

const REFUSED: [Refused; 4] = [
    ("apiBaseUrl", "is not supported; write it as `workspaceUrl`"),
    (
        "apiHost",
        "is not supported; write the whole address as `workspaceUrl`",
    ),
    knobs::CALLBACKS,
    knobs::MCP,
];

/// The provider.
pub struct Databricks;

impl Provider for Databricks {
    fn describe() -> Info {
        let key = CredentialWant::bearer(
            KEY,
            "DATABRICKS_TOKEN",
            "to call the workspace in your name",
        )
        .env_key("apiKeyEnvar")
        .value_key("apiKey");
        runner_plugin::package_info!(
            "databricks",
            "Models that a workspace of Databricks serves."
        )
        .prefix("databricks")
        .host_from(WORKSPACE)
        .credential(key)
        .setting("DATABRICKS_WORKSPACE_URL", WORKSPACE)
        .config_schema(&schema::chat(&json!({
            WORKSPACE: { "type": "string", "pattern": "^https?://" }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        addressed(Knobs::read_target(&API, target)?, target).map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let knobs = Knobs::read_at(&API, WORKSPACE, target, request)?;
        let (mut knobs, model) = addressed(knobs, target)?;
        if let Some(context) = knobs.body.remove("usageContext") {
            knobs.body.insert("usage_context".to_owned(), context);
        }
        chat::complete(&chat::PLAIN, &knobs, "/chat/completions", &model, request)
    }
}

/// The knobs with the address of the workspace's models, and the model.
fn addressed(mut knobs: Knobs, target: &Target) -> Result<(Knobs, String), Error> {
    let (form, named) = knobs::kind(&target.name, &["chat", "completion", "embedding"]);
    if let Some(form @ ("completion" | "embedding")) = form {
        return Err(forms::absent(target, form, "write `databricks:MODEL`"));
    }
    let workspace = knobs.text(WORKSPACE).unwrap_or_default();
    if workspace.is_empty() {
        return Err(Error::invalid_request(
            "no address is set; write `workspaceUrl: https://…` in the provider's config, or set DATABRICKS_WORKSPACE_URL",
        ));
    }
    let bare = workspace.trim_end_matches('/');
    let bare = bare.strip_suffix(ENDPOINTS).unwrap_or(bare);
    knobs.base_url = format!("{bare}{ENDPOINTS}");
    let model = knobs.model(target, named)?;
    Ok((knobs, model))
}

runner_plugin::export_provider!(Databricks);
