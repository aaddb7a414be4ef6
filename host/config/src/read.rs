//! From files to trees and rows in which every value knows where it stands and who wrote it.
//!
//! Nothing here knows a key of a config; each reader says at its head what it takes of the memory.

pub(crate) mod csv_rows;
pub(crate) mod entry;
pub(crate) mod files;
pub(crate) mod json;
pub(crate) mod node;
pub(crate) mod references;
pub(crate) mod yaml;
