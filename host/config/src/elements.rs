//! The keys of a config, one file each: what it may say, how it is read, what is wrong with it. What all of them
//! need stands in `reading`, and below that in `books` what was found so far.

mod assertion_text;
pub(crate) mod assertions;
pub(crate) mod books;
pub(crate) mod budget;
pub(crate) mod code;
pub(crate) mod default_test;
pub(crate) mod derived_metrics;
pub(crate) mod extensions;
pub(crate) mod http_code;
pub(crate) mod http_files;
pub(crate) mod judges;
pub(crate) mod lane;
pub(crate) mod limits;
pub(crate) mod names;
pub(crate) mod nunjucks_filters;
pub(crate) mod options;
pub(crate) mod output_path;
pub(crate) mod plugins;
pub(crate) mod prices;
pub(crate) mod process;
mod programs;
pub(crate) mod prompts;
pub(crate) mod provider_config;
pub(crate) mod providers;
pub(crate) mod questions;
pub(crate) mod reading;
pub(crate) mod retries;
pub(crate) mod scan;
pub(crate) mod scenarios;
pub(crate) mod tasks;
pub(crate) mod test_case;
pub(crate) mod test_options;
pub(crate) mod test_sources;
pub(crate) mod thresholds;
pub(crate) mod vars;
