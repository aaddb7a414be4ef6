//! What needs agreement, in words: the question, and the refusal where nobody can be asked.
//!
//! A question is only worth something if it can be read. Everything in it that texts of others
//! made stands on its line, with nothing that a terminal would obey; a list that is too long is
//! refused as a whole, since what is cut off would be agreed to unread.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use runner_config::{Permissions, TextOrigin, TrustSubject, named_path};
use runner_eval::trust::Need;

use super::{Asking, Purpose};
use crate::failure::Failure;
use crate::figures;
use crate::visible;

/// Lines of a question.
const MOST_LINES: usize = 50;
/// Characters of one of them.
const LONGEST_LINE: usize = 600;

/// Whether more may be asked for later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaterRequests {
    /// Not as far as is known.
    Nothing,
    /// What is not agreed to is not read, and what follows from it is not known.
    Follows,
}

impl LaterRequests {
    /// The line that says so.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Follows => {
                "note: none of this is read before you agree; what else is asked for is found after it\n"
            }
        }
    }
}

/// What agreeing to a file means beyond the line that names it.
const READ: &str = "note: the contents of a file that is read may go to any server that the config names, now or later\n";

/// The lines below a list of needs.
fn notes<'a>(needs: impl IntoIterator<Item = &'a Need>, more: LaterRequests) -> String {
    let reads = |need: &Need| matches!(need.request.subject, TrustSubject::Read { .. });
    let read = if needs.into_iter().any(reads) {
        READ
    } else {
        ""
    };
    format!("{read}{}", more.note())
}

/// The needs of configs, and those of data.
pub(super) fn by_author<'a>(needs: impl IntoIterator<Item = &'a Need>) -> Vec<Vec<&'a Need>> {
    let needs = needs.into_iter();
    let (data, config) = needs.partition(|need| need.request.origin.is_data());
    let mut groups: Vec<Vec<&Need>> = vec![config, data];
    groups.retain(|group| !group.is_empty());
    groups
}

/// A line for each need: where, and what.
fn lines(needs: &[&Need]) -> Vec<String> {
    let line = |need: &&Need| {
        let unwritten = match (&need.not_granted, &need.request.subject) {
            (Some(_), TrustSubject::Component { grants, .. })
                if *grants != Permissions::default() =>
            {
                " (not all of it is written in the config)"
            }
            _ => "",
        };
        let at = need.request.at.named();
        let text = format!("  {at}: {}{unwritten}", need.request.subject);
        // Two names that differ in what has no width are two names.
        let unseen = |c: char| visible::is_unseen(c) && !c.is_whitespace();
        visible::line(&text).replace(unseen, "\u{fffd}")
    };
    needs.iter().map(line).collect()
}

/// All needs of a run, those that are not agreed to first, as `runner trust` prints them.
pub(crate) fn told(needs: &[Need], open: &[Need], more: LaterRequests) -> String {
    if needs.is_empty() && open.is_empty() {
        return "nothing here needs your agreement\n".to_owned();
    }
    let mut told = Vec::new();
    for needs in by_author(open) {
        told.push(format!("{}; not agreed to:", heading(&needs)));
        told.extend(lines(&needs));
    }
    let is_open: HashSet<_> = open.iter().map(asked).collect();
    let agreed = needs.iter().filter(|need| !is_open.contains(&asked(need)));
    let agreed: Vec<&Need> = agreed.collect();
    if !agreed.is_empty() {
        told.push("agreed to:".to_owned());
        told.extend(lines(&agreed));
    }
    told.join("\n") + "\n" + &notes(open, more)
}

/// What is asked for, and by whom.
fn asked(need: &Need) -> (&TrustSubject, &TextOrigin) {
    (&need.request.subject, &need.request.origin)
}

/// Needs as a list, a line each.
pub(super) fn list(needs: &[Need]) -> String {
    let needs: Vec<&Need> = needs.iter().collect();
    lines(&needs).join("\n")
}

/// The question for needs of one kind of author.
///
/// # Errors
/// When it is too long to be read.
pub(super) fn question(
    needs: &[&Need],
    more: LaterRequests,
    folders: &BTreeSet<PathBuf>,
    command: &Asking,
) -> Result<String, Failure> {
    let lines = lines(needs);
    let (heading, scope) = (heading(needs), scope(needs, folders));
    if let Some(too_much) = too_much(&lines, [&heading, &scope]) {
        let message = format!("{heading}: {too_much} for one question");
        let help = format!(
            "{} shows all of it, {} agrees to it{}; or trust it unseen with {}",
            command.show(),
            command.yes(),
            command.left_out(),
            unseen(needs)
        );
        return Err(Failure::usage(message).help(help));
    }
    Ok(format!(
        "{heading}:\n{}\n{}Allow this, and remember it for {scope}? [y/N] ",
        lines.join("\n"),
        notes(needs.iter().copied(), more),
    ))
}

/// Why nobody would read so much; `around` stands before and behind the lines.
fn too_much(lines: &[String], around: [&String; 2]) -> Option<String> {
    if lines.len() > MOST_LINES {
        let requests = figures::count(lines.len() as u64);
        return Some(format!("there are {requests} requests, too many"));
    }
    let texts = lines.iter().chain(around);
    let longest = texts.map(|text| text.chars().count()).max()?;
    let characters = figures::count(longest as u64);
    (longest > LONGEST_LINE).then(|| format!("a request has {characters} characters, too many"))
}

/// For whom an answer is remembered.
fn scope(needs: &[&Need], folders: &BTreeSet<PathBuf>) -> String {
    if let Some(rows) = rows(needs) {
        return format!("the {rows}");
    }
    let names: Vec<String> = folders.iter().map(|folder| named_path(folder)).collect();
    let together = if names.len() > 1 { " together" } else { "" };
    let scope = format!("configs in {}{together}", names.join(" and "));
    visible::line(&scope).into_owned()
}

/// Why a run can't start where nobody can be asked.
pub(super) fn refusal(
    open: &[Need],
    more: LaterRequests,
    purpose: Purpose,
    command: &Asking,
) -> Failure {
    let refused = open.iter().filter_map(|need| need.not_granted.as_ref());
    let mut messages: Vec<String> = refused
        .map(|refusal| {
            format!(
                "{refusal}\nhelp: or run {} once{}, which grants it and changes no file of yours",
                command.shown(),
                command.left_out()
            )
        })
        .collect();
    let written = open.iter().filter(|need| need.not_granted.is_none());
    let groups = by_author(written);
    messages.extend(groups.iter().map(|it| refused_needs(it, purpose, command)));
    if let (Some(last), false) = (messages.last_mut(), groups.is_empty()) {
        let help = format!(
            "\n{}help: to agree, run {}{}. In CI, if you trust everything it checks out, set {}.",
            notes(open, more),
            command.shown(),
            command.left_out(),
            unseen(&groups.concat())
        );
        last.push_str(&help);
    }
    Failure::usage_all(messages)
}

/// The part of a refusal that is about needs of one kind of author.
fn refused_needs(needs: &[&Need], purpose: Purpose, command: &Asking) -> String {
    let mut lines = lines(needs);
    if lines.len() > MOST_LINES {
        let more = figures::count((lines.len() - MOST_LINES) as u64);
        lines.truncate(MOST_LINES);
        lines.push(format!("  and {more} more, see {}", command.show()));
    }
    format!(
        "{}{}:\n{}",
        heading(needs),
        purpose.nothing_sent(),
        lines.join("\n")
    )
}

/// Who asks.
fn heading(needs: &[&Need]) -> String {
    match rows(needs) {
        None => "the config asks for permissions that need your agreement".to_owned(),
        Some(rows) => {
            format!(
                "{rows} ask for permissions that need your agreement, since data gives values only"
            )
        }
    }
}

/// The rows that ask, if rows do.
fn rows(needs: &[&Need]) -> Option<String> {
    let files: BTreeSet<String> = needs
        .iter()
        .filter_map(|need| match &need.request.origin {
            TextOrigin::Data(file) => {
                let name = named_path(&file.shown);
                Some(visible::line(&name).into_owned())
            }
            TextOrigin::Person | TextOrigin::Config | TextOrigin::Vouched => None,
        })
        .collect();
    if files.is_empty() {
        return None;
    }
    let shown: Vec<&str> = files.iter().map(String::as_str).take(3).collect();
    let more = match files.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more files"),
    };
    Some(format!("rows of {}{more}", shown.join(", ")))
}

/// How to trust such needs unseen.
fn unseen(needs: &[&Need]) -> &'static str {
    let is_data = needs.iter().any(|need| need.request.origin.is_data());
    if is_data {
        "RUNNER_TRUST=data"
    } else {
        "RUNNER_TRUST=config"
    }
}

/// How many needs there are, and of whom.
pub(super) fn counted(needs: &[&Need]) -> String {
    let data = needs.iter().filter(|need| need.request.origin.is_data());
    let data = data.count() as u64;
    let config = needs.len() as u64 - data;
    let things = |count, whose| {
        let things = figures::counted(count, "thing", "things");
        format!("{things} that {whose} beyond its rights")
    };
    match (config, data) {
        (_, 0) => things(config, "the config asks for"),
        (0, _) => things(data, "data asks for"),
        _ => format!(
            "{} and {}",
            things(config, "the config asks for"),
            things(data, "data asks for")
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use runner_config::TrustRequest;
    use runner_config::plan::Position;

    use super::*;
    use crate::arguments::Words;

    fn need(name: &str, origin: TextOrigin) -> Need {
        Need {
            request: TrustRequest {
                subject: TrustSubject::Variable {
                    name: name.to_owned(),
                    to: "https://a.example".to_owned(),
                },
                origin,
                at: Position {
                    file: "c.yaml".into(),
                    line: 3,
                    column: 5,
                    key: "providers[0]".to_owned(),
                },
            },
            not_granted: None,
        }
    }

    fn folders() -> BTreeSet<PathBuf> {
        [PathBuf::from("/evals")].into()
    }

    fn asking() -> Asking {
        Asking::new(Words::default())
    }

    fn asked(needs: &[Need]) -> Result<String, String> {
        let needs: Vec<&Need> = needs.iter().collect();
        question(&needs, LaterRequests::Nothing, &folders(), &asking())
            .map_err(|failure| failure.render())
    }

    #[test]
    fn a_question_names_each_thing_with_its_place_and_what_yes_means() {
        assert_eq!(
            asked(&[need("KEY", TextOrigin::Config)]),
            Ok(
                "the config asks for permissions that need your agreement:\n  \
                c.yaml:3:5: send the environment variable KEY to https://a.example\n\
                Allow this, and remember it for configs in /evals? [y/N] "
                    .to_owned()
            )
        );
    }

    #[test]
    fn a_question_about_a_file_says_where_its_text_may_go() {
        let mut need = need("KEY", TextOrigin::Config);
        need.request.subject = TrustSubject::Read {
            path: "/home/ada/notes.txt".into(),
        };
        assert_eq!(
            asked(&[need]),
            Ok("the config asks for permissions that need your agreement:\n  \
                c.yaml:3:5: read the file /home/ada/notes.txt\n\
                note: the contents of a file that is read may go to any server that the config names, now or later\n\
                Allow this, and remember it for configs in /evals? [y/N] "
                .to_owned())
        );
    }

    #[test]
    fn rows_are_a_group_of_their_own_that_names_their_files() {
        let data = TextOrigin::data(Path::new("rows\u{1b}.csv"), "/rows.csv".into());
        let needs = [need("A", data), need("B", TextOrigin::Config)];
        let groups = by_author(&needs);
        assert_eq!(groups.len(), 2);
        assert_eq!(
            heading(&groups[1]),
            "rows of 'rows␛.csv' ask for permissions that need your agreement, since data gives values only"
        );
    }

    #[test]
    fn words_of_others_can_not_write_lines_or_obey() {
        let question = asked(&[need(
            "K\nAllow nothing\u{202e}\u{1b}[2J",
            TextOrigin::Config,
        )]);
        let question = question.expect("it is short");
        assert_eq!(question.lines().count(), 3, "{question}");
        assert!(!question.contains(['\u{1b}', '\u{202e}']), "{question}");
    }

    #[test]
    fn what_is_too_long_to_be_read_is_not_asked() {
        let many: Vec<Need> = (0..=MOST_LINES)
            .map(|n| need(&format!("N{n}"), TextOrigin::Config))
            .collect();
        let long = [need(&"N".repeat(1000), TextOrigin::Config)];
        let file = "f".repeat(1000);
        let rows = [need("A", TextOrigin::data(Path::new(&file), "/f".into()))];
        let table = [
            (rows.as_slice(), "characters, too many for one question"),
            (
                many.as_slice(),
                "there are 51 requests, too many for one question",
            ),
            (long.as_slice(), "characters, too many for one question"),
        ];
        for (needs, reason) in table {
            let refused = asked(needs).expect_err("too long");
            assert!(refused.contains(reason), "{refused}");
            assert!(
                refused.contains("`runner trust --show` shows all of it"),
                "{refused}"
            );
        }
        assert!(asked(&many[1..]).is_ok());
        let refused = refusal(&many, LaterRequests::Nothing, Purpose::Run, &asking()).render();
        assert!(
            refused.contains("\n  and 1 more, see `runner trust --show`\n"),
            "{refused}"
        );
    }

    #[test]
    fn folders_of_one_run_are_named_as_one() {
        let two = [PathBuf::from("/a"), PathBuf::from("/b")].into();
        assert_eq!(scope(&[], &two), "configs in /a and /b together");
        assert_eq!(scope(&[], &folders()), "configs in /evals");
        let data = TextOrigin::data(Path::new("rows.csv"), "/rows.csv".into());
        assert_eq!(
            scope(&[&need("A", data)], &folders()),
            "the rows of rows.csv"
        );
    }

    #[test]
    fn what_to_do_is_said_once_and_covers_rows_as_well() {
        let data = TextOrigin::data(Path::new("rows.csv"), "/rows.csv".into());
        let needs = [need("A", TextOrigin::Config), need("B", data)];
        let refused =
            |purpose| refusal(&needs, LaterRequests::Follows, purpose, &asking()).render();
        let looked = "error: the config asks for permissions that need your agreement:\n  \
            c.yaml:3:5: send the environment variable A to https://a.example\n\
            error: rows of rows.csv ask for permissions that need your agreement, since data gives values only:\n  \
            c.yaml:3:5: send the environment variable B to https://a.example\n\
            note: none of this is read before you agree; what else is asked for is found after it\n\
            help: to agree, run `runner trust`. In CI, if you trust everything it checks out, set RUNNER_TRUST=data.";
        assert_eq!(refused(Purpose::Look), looked);
        let run = looked.replace("agreement:", "agreement; nothing was sent:");
        let run = run.replace("only:", "only; nothing was sent:");
        assert_eq!(refused(Purpose::Run), run);
    }

    #[test]
    fn all_that_is_needed_is_told_with_what_is_not_agreed_to_first() {
        let needs = [need("A", TextOrigin::Config), need("B", TextOrigin::Config)];
        assert_eq!(
            told(&needs, &needs[1..], LaterRequests::Follows),
            "the config asks for permissions that need your agreement; not agreed to:\n  \
             c.yaml:3:5: send the environment variable B to https://a.example\n\
             agreed to:\n  \
             c.yaml:3:5: send the environment variable A to https://a.example\n\
             note: none of this is read before you agree; what else is asked for is found after it\n"
        );
        assert_eq!(
            told(&[], &[], LaterRequests::Nothing),
            "nothing here needs your agreement\n"
        );
    }
}
