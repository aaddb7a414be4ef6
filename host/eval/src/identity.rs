//! What makes a case the same case on another machine or another day.

use runner_config::plan::Case;
use serde_json::json;
use sha2::{Digest, Sha256};

/// sha256 (hex) of the test as written, the variables, the prompt, the provider with its
/// config, and the repeat. Positions are left out: moving a test in its file changes nothing.
pub(crate) fn call_id(case: &Case) -> String {
    let provider = &case.column.provider;
    let content = json!([
        case.test.json,
        *case.vars,
        case.column.prompt.id,
        case.column.prompt.raw,
        provider.id,
        provider.config,
        case.repeat_index,
    ]);
    hex(&Sha256::digest(content.to_string()))
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes everything");
            text
        })
}
