//! The pages for authors of plugins: each command is run, in order, and says what stands there.

use std::path::{Path, PathBuf};
use std::process::Command;

use runner_tests::{Run, guest, workspace_root};

use super::toolchains;

/// A page that is being followed.
struct Page {
    run: Run,
    lang: &'static str,
    folder: PathBuf,
    /// How many commands of the program were run.
    ran: usize,
}

impl Page {
    fn follow(file: &str, lang: &'static str) -> usize {
        let text = std::fs::read_to_string(workspace_root().join("docs").join(file));
        let text = text.expect("the page is there");
        let run = toolchains::with_path().env("ASKER_API_KEY", "asker-secret-value");
        let folder = run.project().to_owned();
        let mut page = Self {
            run,
            lang,
            folder,
            ran: 0,
        };
        for block in text.split("```").skip(1).step_by(2) {
            if let Some(commands) = block.strip_prefix("console\n") {
                if !page.console(commands) {
                    break;
                }
            } else if let Some((name, code)) = named(block) {
                std::fs::write(page.folder.join(name), code).expect("written");
            }
        }
        page.ran
    }

    /// Runs the commands of a block; false where a toolchain is missing, and the rest can't be followed.
    fn console(&mut self, block: &str) -> bool {
        let joined = block.replace("\\\n", " ");
        let mut lines = joined.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else {
                continue;
            };
            let command = command.split(" # ").next().unwrap_or_default().trim();
            let shown: Vec<&str> =
                std::iter::from_fn(|| lines.next_if(|line| !line.starts_with("$ "))).collect();
            if !self.command(command, &shown) {
                return false;
            }
        }
        true
    }

    fn command(&mut self, command: &str, shown: &[&str]) -> bool {
        match command {
            "npm install" | "python3 -m venv .venv" => {
                return toolchains::install(&self.folder, self.lang);
            }
            ".venv/bin/pip install -r requirements.txt" => {}
            "npm test" | "python3 -m unittest" => self.native(command),
            "runner plugin build" if self.lang == "rust" => self.built_with_the_tests(),
            _ => {
                if let Some(name) = command.strip_prefix("cd ") {
                    self.folder = self.folder.join(name).components().collect();
                } else if let Some(arguments) = command.strip_prefix("runner ") {
                    let run = self.run.clone().in_folder(&self.folder);
                    let done = run.args(shell_words(arguments)).finish();
                    if arguments == "plugin build" {
                        done.expect_code(0);
                    }
                    let told = done.told();
                    for line in shown.iter().filter(|line| !line.contains("of CPU")) {
                        assert!(told.contains(line), "{command}\n{line}\nis not in\n{told}");
                    }
                    self.ran += 1;
                } else {
                    panic!("nobody knows how to test `{command}`");
                }
            }
        }
        true
    }

    /// A component of the folder's name, in the place where Rust's tools put theirs.
    fn built_with_the_tests(&self) {
        let name = Path::new(self.folder.file_name().expect("a folder"));
        let release = self.folder.join("target/wasm32-wasip2/release");
        std::fs::create_dir_all(&release).expect("made");
        let component = guest(&Path::new("outside").join(name).display().to_string());
        let to = release.join(name.with_extension("wasm"));
        std::fs::copy(component, to).expect("copied");
    }

    fn native(&self, command: &str) {
        let mut words = command.split(' ');
        let mut command = Command::new(words.next().expect("a program"));
        let done = command.args(words).current_dir(&self.folder).output();
        let done = done.expect("it starts");
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
    }
}

/// The name of a file that a block shows whole, in its first line's comment, and its text.
fn named(block: &str) -> Option<(&str, &str)> {
    let (_, code) = block.split_once('\n')?;
    let first = code.lines().next()?;
    let name = first.strip_prefix("// ").or(first.strip_prefix("# "))?;
    let end = Path::new(name).extension().and_then(|end| end.to_str());
    let is_file = matches!(end, Some("js" | "py" | "yaml")) && !name.contains(' ');
    is_file.then_some((name, code))
}

#[test]
fn the_page_for_authors_shows_what_happens() {
    let ran = Page::follow("writing-plugins.md", "rust");
    assert!(ran >= 6, "{ran} commands");
}

#[test]
fn the_page_on_javascript_shows_what_happens() {
    Page::follow("writing-plugins-js.md", "js");
}

#[test]
fn the_page_on_python_shows_what_happens() {
    Page::follow("writing-plugins-python.md", "python");
}

#[test]
fn the_page_on_c_shows_what_happens() {
    Page::follow("writing-plugins-c.md", "c");
}

/// The words of a line of the page: quotes group, and nothing else means anything.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
