//! What each code means, in more words than a message has room for: why it comes, and what to do.
//!
//! A message says what happened to this plugin; this says what the code stands for, so that whoever has the
//! program alone need not look for a page. Limits are told in words here; their numbers are in `limits`.

use super::MessageCode;

/// What a code stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// What happened, one sentence.
    pub what: &'static str,
    /// Why that comes about and what follows from it, some sentences.
    pub why: &'static str,
    /// What to do, some sentences.
    pub todo: &'static str,
}

impl MessageCode {
    /// What it stands for.
    ///
    /// # Panics
    /// Never: a test holds the table against the codes.
    pub fn explanation(self) -> &'static Explanation {
        let found = TABLE.iter().find(|(code, _)| *code == self);
        &found.expect("a test looks for every code").1
    }

    /// Every code, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(code, _)| *code)
    }
}

const fn row(
    code: MessageCode,
    what: &'static str,
    why: &'static str,
    todo: &'static str,
) -> (MessageCode, Explanation) {
    (code, Explanation { what, why, todo })
}

const TABLE: [(MessageCode, Explanation); 30] = [
    row(
        MessageCode::P001,
        "The file is no WebAssembly file.",
        "A plugin is a WebAssembly component, and this file begins otherwise. The message says what it looks like: a program, a script, a page of an error that a server sent in its place.",
        "Name the `.wasm` file that building the plugin made, or download it again.",
    ),
    row(
        MessageCode::P002,
        "The file is damaged or not complete.",
        "It begins as WebAssembly does, and then something in it can't be read. A download that broke off does that.",
        "Download or build the file again, and compare its sha256 with the one that its author states.",
    ),
    row(
        MessageCode::P003,
        "The file is a core module and not a component.",
        "Compilers make core modules; one more step makes a component of it, which says what it imports and exports in types.",
        "The help of the message names the step that suits this module. `runner plugin new` makes a folder in which building does it.",
    ),
    row(
        MessageCode::P004,
        "The component has none of the interfaces of a plugin.",
        "A plugin exports `plugin-meta` and one of `provider` and `assertion`, or more; this one exports something else, which the message lists.",
        "Build it for the world `provider-plugin` or `assertion-plugin` of `runner:plugin`. `runner plugin new` makes a plugin to start from.",
    ),
    row(
        MessageCode::P005,
        "The plugin was built for another version of the contract.",
        "Versions of the contract that do not fit each other have different first numbers (0.1, 0.2). This program serves those that `runner --version --verbose` says.",
        "Upgrade whichever of the two is older: the program, or the plugin, which then has to be built again.",
    ),
    row(
        MessageCode::P006,
        "The plugin needs something of a later version of the contract.",
        "Within a version, functions and interfaces are added. This plugin imports one that this program does not have yet.",
        "Upgrade the program, or use an older build of the plugin.",
    ),
    row(
        MessageCode::P007,
        "The plugin's idea of the contract is not the published one.",
        "It names the right version, but one of its functions has other types, or is missing. That comes from a copy of the WIT that was changed.",
        "Build the plugin again with the published WIT; `runner plugin new` puts it into the folder that it makes.",
    ),
    row(
        MessageCode::P008,
        "The plugin imports what no plugin is given.",
        "Plugins have no files, no sockets and no processes. They reach the network through `runner:plugin/http`, where grants, limits and keys are kept.",
        "Build it without these imports. Libraries that open sockets or files by themselves can't be used; most have a way to be given a transport.",
    ),
    row(
        MessageCode::P009,
        "The plugin wants an address, a key or an ability that nobody granted.",
        "A component that does not come with the program may do nothing but what `plugins:` in the config grants it. It is refused before anything runs, so that no row fails of it later.",
        "Read the lines of YAML in the message. If you trust the plugin with that, put them into the config; else leave the plugin out.",
    ),
    row(
        MessageCode::P010,
        "Two plugins claim the same name.",
        "A name, a prefix of providers, a type of assertion or an extension of files belongs to one plugin, so that what a config means does not depend on the order of files.",
        "Write `as: { its-name: another }` into the plugin's entry under `plugins`, which gives a type or a prefix another name in the config, or use one of the two files. The program's own name as the new one has the plugin take its place.",
    ),
    row(
        MessageCode::P011,
        "The plugin does not describe itself, or says nonsense.",
        "Each plugin is asked once what it is and serves. This one failed at it, took too long, or gave an answer with names, hosts or texts that are none.",
        "Report it to the plugin's author. `runner plugin inspect FILE` shows what it says.",
    ),
    row(
        MessageCode::P012,
        "A JSON Schema of the plugin can't be used.",
        "A plugin may bring schemas for its `config` and for values of its assertions. They have limits on size, depth and patterns, refer to nothing outside themselves, and their patterns run in linear time.",
        "Report it to the plugin's author, with the message.",
    ),
    row(
        MessageCode::P013,
        "The plugin refuses what the config gives it.",
        "The provider's `config`, or an assertion's `value`, does not fit the plugin's schema, or its own check. Nothing was sent.",
        "Mend the key that the message names. `runner plugin docs NAME` says what a plugin of the program takes, `runner plugin inspect FILE` what another one does.",
    ),
    row(
        MessageCode::P014,
        "The plugin needs more at its start than it may have.",
        "Memory, tables, functions and components inside it are counted before it runs.",
        "Raise `limits.memory_mb` of the plugin in the config if it is the memory. Otherwise its author has to build it smaller, without what it does not use.",
    ),
    row(
        MessageCode::P015,
        "The plugin's file can't be read.",
        "There is no such file, it may not be read, it is a folder, or it is larger than a plugin may be (64 MiB).",
        "Look at the path: one in a config starts at the config's folder, one of `--plugin` at the current one.",
    ),
    row(
        MessageCode::P016,
        "The plugin can't be compiled.",
        "Each plugin is compiled once for a machine. That took longer than two minutes, the engine refuses it, or it is nested too deeply.",
        "If it was the time, try again: what was compiled is kept. Otherwise report it to the plugin's author.",
    ),
    row(
        MessageCode::P017,
        "The plugin is not the file that the config names.",
        "`plugins.NAME.sha256` says which file is meant, and the file at `source` is another one.",
        "Find out why it changed. If the change is wanted, write the new sha256 into the config, and run `runner plugin lock` where there is a `runner.lock`.",
    ),
    row(
        MessageCode::P018,
        "The plugin that runs this code is not installed.",
        "A config's code runs in a plugin for its language. This program came without the one that is needed.",
        "Take a program that carries it (`runner plugin list` says what one carries), or name its file: `--plugin python.wasm`. Where the code may run on your machine, `runtime: process` does without.",
    ),
    row(
        MessageCode::C101,
        "The plugin's code crashed.",
        "Its own code failed: it panicked, read outside its memory, exited, or opened more streams than it may. Only this row is an error; the next call gets a fresh instance.",
        "Report it to the plugin's author with the row that causes it. `runner plugin call` makes the same call alone.",
    ),
    row(
        MessageCode::C102,
        "The plugin ran out of memory.",
        "An instance has a limit, 128 MiB unless the config says otherwise. A very large answer or document reaches it.",
        "Raise `limits.memory_mb` of the plugin in the config, up to 1024, or give it less.",
    ),
    row(
        MessageCode::C103,
        "The plugin used all the computing that one call may use.",
        "Graders and code are counted by instructions, so that a verdict is the same on every machine. An endless loop ends here, and so does a regular expression or a script that takes too long on this answer.",
        "Look at the code with this row. If it needs more, raise `limits.cpu_ms` of the plugin in the config.",
    ),
    row(
        MessageCode::C104,
        "The plugin worked or slept longer than one call may.",
        "Its own time counts; waiting for servers does not. It may loop on this input, or sleep.",
        "Raise `limits.cpu_ms` of the plugin in the config if it needs more; else report it to its author with the row.",
    ),
    row(
        MessageCode::C105,
        "The plugin called itself too deeply.",
        "Its stack of 2 MiB is used up, as by endless recursion or a very deeply nested document.",
        "Give it a flatter input, or report it to the plugin's author with the row.",
    ),
    row(
        MessageCode::C106,
        "The plugin passed too much data at once.",
        "What goes from a plugin to the program in one piece is limited (16 MiB).",
        "The plugin has to answer with less. Where a raw response is part of its answer, its author can leave that out.",
    ),
    row(
        MessageCode::C107,
        "The plugin passed a value that is none.",
        "A pointer led outside its memory, or a value is not of its type. The code that binds the plugin to the contract does that, not its logic.",
        "Build the plugin again with a current SDK, or report it to its author.",
    ),
    row(
        MessageCode::C108,
        "The plugin passed text that is not UTF-8.",
        "Texts of the contract are UTF-8. An answer in another encoding has to be converted by the plugin.",
        "Report it to the plugin's author with the row.",
    ),
    row(
        MessageCode::C109,
        "The plugin's answer breaks the contract.",
        "It has the right types, but says what can't be: JSON that is none, a score that is no number, a negative cost, one score twice, a list of another length than was asked for.",
        "Report it to the plugin's author with the message, which names the field.",
    ),
    row(
        MessageCode::C110,
        "There was no free instance for the call.",
        "Each call in flight has an instance of its own, 4,000 in all, and the system has to have room for them.",
        "Lower `-j`. On Linux `vm.max_map_count` bounds how many there can be; `runner doctor` shows the system's limits.",
    ),
    row(
        MessageCode::C111,
        "The plugin was disabled for this run.",
        "It crashed ten times in a row. Further calls would only take time, and other plugins go on.",
        "Look at the first crash. When the plugin is mended, `runner retry` runs the errors again.",
    ),
    row(
        MessageCode::C112,
        "The plugin was called for what it does not serve.",
        "It describes a provider or an assertion that its component does not export.",
        "`runner plugin inspect FILE` shows what it serves; report it to its author.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows a code, so that no new one is forgotten: the match has to name it.
    fn next(code: MessageCode) -> Option<MessageCode> {
        use MessageCode::*;
        Some(match code {
            P001 => P002,
            P002 => P003,
            P003 => P004,
            P004 => P005,
            P005 => P006,
            P006 => P007,
            P007 => P008,
            P008 => P009,
            P009 => P010,
            P010 => P011,
            P011 => P012,
            P012 => P013,
            P013 => P014,
            P014 => P015,
            P015 => P016,
            P016 => P017,
            P017 => P018,
            P018 => C101,
            C101 => C102,
            C102 => C103,
            C103 => C104,
            C104 => C105,
            C105 => C106,
            C106 => C107,
            C107 => C108,
            C108 => C109,
            C109 => C110,
            C110 => C111,
            C111 => C112,
            C112 => return None,
        })
    }

    #[test]
    fn no_code_lacks_an_explanation_and_each_is_of_sentences() {
        let codes: Vec<MessageCode> =
            std::iter::successors(Some(MessageCode::P001), |code| next(*code)).collect();
        assert!(MessageCode::all().eq(codes.iter().copied()));
        for code in codes {
            let Explanation { what, why, todo } = code.explanation();
            for text in [what, why, todo] {
                assert!(text.ends_with('.') && text.len() > 20, "{code}: {text}");
            }
        }
    }

    #[test]
    fn codes_that_calls_fail_with_are_those_that_begin_with_c() {
        let calls = MessageCode::all().filter(|code| code.to_string().starts_with('C'));
        assert!(calls.eq(MessageCode::CALLS));
    }
}
