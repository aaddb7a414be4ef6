//! What a person said of a case, as files have it.

use runner_store::Annotation;
use serde::{Deserialize, Serialize};

/// Thumb, score, label and comment; each absent where nothing was said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AnnotationRecord {
    /// Thumb up; a file says `up` or `down`.
    #[serde(with = "thumb", skip_serializing_if = "Option::is_none", default)]
    pub thumb: Option<bool>,
    /// A score.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub score: Option<f64>,
    /// A word to sort cases by.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<String>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comment: Option<String>,
}

impl From<Annotation> for AnnotationRecord {
    fn from(said: Annotation) -> Self {
        let Annotation {
            thumb,
            score,
            label,
            comment,
        } = said;
        Self {
            thumb,
            score,
            label,
            comment,
        }
    }
}

impl From<AnnotationRecord> for Annotation {
    fn from(said: AnnotationRecord) -> Self {
        let AnnotationRecord {
            thumb,
            score,
            label,
            comment,
        } = said;
        Self {
            thumb,
            score,
            label,
            comment,
        }
    }
}

/// A thumb as a word; any other word is none.
mod thumb {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands over a reference"
    )]
    pub(super) fn serialize<S: Serializer>(thumb: &Option<bool>, to: S) -> Result<S::Ok, S::Error> {
        thumb.map(|up| if up { "up" } else { "down" }).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<bool>, D::Error> {
        let word = Option::<String>::deserialize(from)?;
        Ok(match word.as_deref() {
            Some("up") => Some(true),
            Some("down") => Some(false),
            _ => None,
        })
    }
}
