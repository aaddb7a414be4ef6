//! Texts and values of a case: rendered, and raw beside it, of which a key shows one.

use maud::{Markup, html};
use serde_json::Value;

use super::super::block;
use crate::markdown::{self, is_picture};
use crate::record::text_of;

/// Bytes of a text that is rendered; a longer one is shown raw.
const MOST_RENDERED: usize = 200_000;

/// A text as Markdown, or as JSON if it is JSON, and as it is.
pub(super) fn rendered(text: &str) -> Markup {
    if text.len() > MOST_RENDERED {
        return html! { pre { (block(text)) } };
    }
    let pretty = match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => serde_json::from_str::<Value>(text).ok(),
        _ => None,
    };
    html! {
        div.both {
            @match &pretty {
                Some(value) => div.rendered { (json(value)) },
                None => div.rendered.markdown { (markdown::render(&block(text))) },
            }
            pre.raw { (block(text)) }
        }
    }
}

/// JSON with its lines.
pub(super) fn json(value: &Value) -> Markup {
    html! { pre.json { (block(&serde_json::to_string_pretty(value).unwrap_or_default())) } }
}

/// A value: a picture or a sound if it holds one, else text.
pub(super) fn value(value: &Value) -> Markup {
    let text = text_of(value);
    html! {
        @if is_picture(&text) { img src=(text) alt="a picture among the variables"; }
        @else if is_sound(&text) { audio controls src=(text) {} }
        @else { (block(&text)) }
    }
}

/// Whether an address holds a sound.
pub(super) fn is_sound(url: &str) -> bool {
    let kinds = ["wav", "mpeg", "mp3", "ogg", "webm"];
    kinds
        .iter()
        .any(|kind| url.starts_with(&format!("data:audio/{kind};base64,")))
}
