//! From files to trees and rows in which every value knows where it stands and who wrote it.
//!
//! Nothing here knows a key of a config; each reader says at its head what it takes of the memory.

use serde_json::Value;

pub(crate) mod csv_rows;
pub(crate) mod entry;
pub(crate) mod files;
pub(crate) mod json;
pub(crate) mod node;
pub(crate) mod references;
pub(crate) mod yaml;

/// One document of YAML or JSON as a value, by the reader of configs, with its bounds.
///
/// # Errors
/// What is wrong with it, and where.
pub fn document(text: &str, is_json: bool) -> Result<Value, String> {
    let read = if is_json {
        json::parse(text, 1)
    } else {
        yaml::parse(text)
    };
    let read = read.map_err(|wrong| {
        let node::Mark { line, column } = wrong.mark;
        format!("line {line}, column {column}: {}", wrong.message)
    });
    read.map(|tree| tree.json())
}
