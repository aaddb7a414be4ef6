//! `runner trust`: what a config asks for beyond its rights, and what was agreed to.
//!
//! It finds what `eval` with the same flags would ask, by the same code.

use std::path::Path;

use runner_eval::trust::Author;

use super::{Setting, eval};
use crate::arguments::Trust;
use crate::consent::{Folders, canonical};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::visible;

/// Asks, lists or forgets.
pub(super) fn run(arguments: Trust, setting: &Setting) -> Result<u8, Failure> {
    let remembered = &setting.remembered;
    let mut eval = arguments.eval;
    if arguments.list {
        stdout::print(&listed(&remembered.all()?))?;
        return Ok(SUCCESS);
    }
    eval.config.splice(0..0, arguments.path);
    if arguments.revoke {
        let config = eval.config.first().map_or(Path::new(""), |path| path);
        let path = setting.cwd.join(config);
        let folder = if path.is_dir() {
            path.as_path()
        } else {
            path.parent().unwrap_or(&path)
        };
        let forgotten = remembered.forget(folder)? as u64;
        let counted = figures::counted(forgotten, "agreement", "agreements");
        let text = format!(
            "forgotten: {counted} for configs in {}",
            canonical(folder).display()
        );
        stdout::print(&format!("{}\n", visible::line(&text)))?;
        return Ok(SUCCESS);
    }
    eval::agree(&eval, arguments.yes, setting)
}

/// Everything, by folder.
fn listed(folders: &Folders) -> String {
    let mut lines = Vec::new();
    for (folder, entries) in folders {
        lines.push(format!("{}:", folder.display()));
        lines.extend(entries.iter().map(|entry| {
            let author = match &entry.agreed.author {
                Author::Config => "its config".to_owned(),
                Author::Data(file) => format!("rows of {}", file.display()),
            };
            format!("  {} {author} may {}", entry.on, entry.agreed.subject)
        }));
    }
    if lines.is_empty() {
        lines.push("nothing was agreed to".to_owned());
    }
    let safe = lines
        .iter()
        .map(|line| visible::line(line).into_owned() + "\n");
    safe.collect()
}
