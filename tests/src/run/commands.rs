//! Which commands the program has.

use super::Run;

impl Run {
    /// All commands below one, as its help lists them.
    pub fn commands(&self, above: &str) -> Vec<String> {
        let line = format!("{above} --help");
        let help = self.clone().args(line.split_whitespace()).finish().stdout;
        let Some((_, listed)) = help.split_once("Commands:\n") else {
            return vec![above.to_owned()];
        };
        let listed = listed.lines().take_while(|line| !line.is_empty());
        // What a name is about goes on further to the right.
        let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !name.is_empty() && *name != "help");
        let below = names.flat_map(|name| self.commands(format!("{above} {name}").trim_start()));
        below.collect()
    }
}
