//! Where a model is: the address of a region, the project, the publisher.

use plugin_model_api::knobs::Knobs;
use plugin_model_api::path::segment;
use runner_plugin::Error;

/// The region if nobody names one, as promptfoo has it.
const USUAL_REGION: &str = "us-central1";

/// The version of the API if nobody names one.
const VERSION: &str = "v1";

/// The region that is none.
const GLOBAL: &str = "global";

/// A place in a project and a region.
pub(crate) struct Place {
    /// The path to it, with version.
    within: String,
}

impl Place {
    /// Sets the address in the knobs, where the config names none, and says what comes behind it.
    pub(crate) fn find(knobs: &mut Knobs) -> Result<Self, Error> {
        let region = knobs.text("region").unwrap_or(USUAL_REGION);
        let region = segment(region)?;
        let version = segment(knobs.text("apiVersion").unwrap_or(VERSION))?;
        let project = knobs.text("projectId").ok_or_else(|| {
            Error::invalid_request(
                "no project is set; write `projectId: PROJECT` in the provider's config, or set GOOGLE_CLOUD_PROJECT",
            )
        })?;
        let project = segment(project)?;
        let within = format!("/{version}/projects/{project}/locations/{region}");
        if knobs.base_url.is_empty() {
            knobs.base_url = if region == GLOBAL {
                "https://aiplatform.googleapis.com".to_owned()
            } else {
                format!("https://{region}-aiplatform.googleapis.com")
            };
        }
        Ok(Self { within })
    }

    /// The path to a method of a model.
    pub(crate) fn model(
        &self,
        publisher: &str,
        model: &str,
        method: &str,
    ) -> Result<String, Error> {
        let (publisher, model) = (segment(publisher)?, segment(model)?);
        let within = &self.within;
        Ok(format!(
            "{within}/publishers/{publisher}/models/{model}:{method}"
        ))
    }

    /// The path to models that are asked in OpenAI's shape.
    pub(crate) fn openapi(&self) -> String {
        format!("{}/endpoints/openapi/chat/completions", self.within)
    }
}
