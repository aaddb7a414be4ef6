//! Which files a config means by their extension, whatever plugins are loaded.

/// Code, tables and texts: here or in promptfoo.
const RESERVED: [&str; 27] = [
    "cjs", "csv", "cts", "env", "go", "htm", "html", "j2", "js", "json", "jsonl", "jsx", "md",
    "mjs", "mts", "njk", "pdf", "py", "rb", "sh", "ts", "tsv", "tsx", "txt", "xlsx", "yaml", "yml",
];

/// Whether a config means files with this extension by itself: a stranger's plugin that ran them would
/// read the config's own code and data, and answer in their place.
pub(super) fn is_reserved(extension: &str) -> bool {
    RESERVED.iter().any(|it| it.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_configs_are_written_in_is_nobodys() {
        for extension in ["js", "JS", "mjs", "ts", "py", "yaml", "Json", "csv"] {
            assert!(is_reserved(extension), "{extension}");
        }
        for extension in ["lua", "star", "jsx2", ""] {
            assert!(!is_reserved(extension), "{extension}");
        }
    }
}
