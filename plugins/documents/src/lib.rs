//! The script plugin `documents`: reads the text of PDF files that variables name.
//!
//! A document is anybody's, and what reads one is large: so it runs here, where it has nothing but its bytes, and where
//! a crash or an endless loop is an error of that file. To the contract each form of document is a language without
//! files of its own: no config names code in it, the host alone asks, with the bytes in base64 as the program.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use runner_plugin::script::{Argument, Failure, FailureKind, Outcome, Program};
use runner_plugin::{CallContext, Info, Script};
use serde_json::Value;

/// The plugin.
pub struct Documents;

impl Script for Documents {
    fn describe() -> Info {
        runner_plugin::package_info!(
            "documents",
            "Reads the text of PDF files that variables name."
        )
        .script_language("pdf", &[])
    }

    fn run(program: &Program, _: &[Argument], _: &CallContext) -> Outcome {
        match text(&program.source) {
            Ok(text) => Outcome::value(&Value::from(text)),
            Err(reason) => Outcome::failed(Failure::new(FailureKind::Syntax, reason)),
        }
    }
}

runner_plugin::export_script!(Documents);

fn text(base64: &str) -> Result<String, String> {
    let bytes = BASE64_STANDARD.decode(base64);
    let bytes = bytes.map_err(|error| format!("it is not base64: {error}"))?;
    pdf_extract::extract_text_from_mem(&bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of two lines, as small as one can be.
    const PAGE: &[u8] = include_bytes!("../tests/page.pdf");

    #[test]
    fn the_lines_of_a_page_are_its_text() {
        let encoded = BASE64_STANDARD.encode(PAGE);
        let text = text(&encoded).expect("a document");
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>(),
            ["The", "capital", "is", "Paris"]
        );
    }

    #[test]
    fn what_is_no_document_is_said() {
        for bytes in [b"".as_slice(), b"hello", b"%PDF-1.4\n", &PAGE[..200]] {
            assert!(text(&BASE64_STANDARD.encode(bytes)).is_err(), "{bytes:?}");
        }
        assert!(text("not base64").is_err());
    }
}
