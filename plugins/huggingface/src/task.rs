//! What a model is for, as an id writes it, and where it is asked for that.

use plugin_model_api::knobs::{self, Knobs};
use plugin_model_api::path::segment;
use runner_plugin::{Error, Target};

use crate::{CHAT, ROUTER};

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Chat,
    TextGeneration,
    TextClassification,
    TokenClassification,
    FeatureExtraction,
    SentenceSimilarity,
}

/// The tasks by their names at Hugging Face.
const NAMES: [(&str, Task); 6] = [
    ("chat", Task::Chat),
    ("text-generation", Task::TextGeneration),
    ("text-classification", Task::TextClassification),
    ("token-classification", Task::TokenClassification),
    ("feature-extraction", Task::FeatureExtraction),
    ("sentence-similarity", Task::SentenceSimilarity),
];

/// The task that an id asks for, and the model that it names.
pub(crate) fn of(target: &Target) -> Result<(Task, &str), Error> {
    let (found, named) = knobs::kind(&target.name, &NAMES.map(|(name, _)| name));
    let task = NAMES.iter().find(|(name, _)| Some(*name) == found);
    let Some((_, task)) = task else {
        let id = &target.id;
        let known = NAMES.map(|(name, _)| name).join(", ");
        return Err(Error::invalid_request(format!(
            "`{id}` names no task; write `huggingface:TASK:MODEL`, where the task is one of {known}"
        )));
    };
    Ok((*task, named))
}

impl Task {
    /// The whole address of a model; of a chat, what stands before the path of every chat.
    pub(crate) fn address(self, knobs: &Knobs, model: &str) -> Result<String, Error> {
        let own = knobs.text("apiEndpoint");
        if self == Self::Chat {
            let own = own.map(|own| {
                let own = own.trim_end_matches('/');
                own.strip_suffix(CHAT).unwrap_or(own).to_owned()
            });
            return Ok(own.unwrap_or_else(|| format!("{ROUTER}/v1")));
        }
        let path: Vec<String> = model.split('/').map(segment).collect::<Result<_, _>>()?;
        let path = path.join("/");
        // A model of these two is often meant for the other, so the task stands in the address.
        let task = match self {
            Self::FeatureExtraction => "/pipeline/feature-extraction",
            Self::SentenceSimilarity => "/pipeline/sentence-similarity",
            _ => "",
        };
        let ours = || format!("{ROUTER}/hf-inference/models/{path}{task}");
        Ok(own.map_or_else(ours, str::to_owned))
    }
}
