//! Votes: one question, asked an odd number of times at once, and the majority's verdict.
//!
//! A vote that can't be read is neither for nor against: it counts among all votes, so that a
//! minority never decides. The score is the mean of the votes that say something; it shows how
//! far they agree.

use runner_plugin::Component;

use crate::bench::{Bench, Reply};
use crate::chat::Rendered;
use crate::verdict::{Failure, Verdict};

/// Asks as often as the assertion wants votes; `read` makes a verdict of a reply.
pub(crate) fn decide(
    bench: &Bench<'_>,
    question: &Rendered,
    read: impl Fn(&Reply) -> Result<Verdict, Failure>,
) -> Result<Verdict, Failure> {
    if bench.knobs.votes == 1 {
        return read(&bench.ask(question)?);
    }
    let replies = bench.ask_all(&question.attempts(bench.knobs.votes));
    let votes = replies
        .into_iter()
        .map(|reply| match reply.and_then(|reply| read(&reply)) {
            Ok(verdict) => Ok(Ok(verdict)),
            Err(Failure::Grader(problem)) => Ok(Err(problem.reason)),
            Err(cannot) => Err(cannot),
        })
        .collect::<Result<Vec<_>, _>>()?;
    count(votes)
}

/// The majority of all votes; `Err` is a vote that says nothing, and why.
fn count(votes: Vec<Result<Verdict, String>>) -> Result<Verdict, Failure> {
    let all = votes.len();
    let parts = votes.iter().enumerate().map(part).collect();
    let (said, silent): (Vec<_>, Vec<_>) = votes.into_iter().partition(Result::is_ok);
    let said: Vec<Verdict> = said.into_iter().flatten().collect();
    let passes = said.iter().filter(|verdict| verdict.pass).count();
    let (pass, count) = if passes * 2 > all {
        (true, passes)
    } else if (said.len() - passes) * 2 > all {
        (false, said.len() - passes)
    } else {
        let why = silent.into_iter().find_map(Result::err).unwrap_or_default();
        return Err(Failure::unreadable(format_args!(
            "no majority: of {all} votes {passes} passed, {} failed, the others gave no verdict ({why})",
            said.len() - passes
        )));
    };
    // From the first on, so that equal scores have themselves as their mean.
    let first = said.first().map_or(0.0, |verdict| verdict.score);
    let apart = said.iter().map(|verdict| verdict.score - first);
    let score = first + apart.sum::<f64>() / said.len() as f64;
    let word = if pass { "passed" } else { "failed" };
    let mut leading = said
        .into_iter()
        .find(|verdict| verdict.pass == pass)
        .expect("a majority has at least one vote");
    leading.reason = format!("{count} of {all} votes {word}: {}", leading.reason);
    leading.score = score;
    leading.parts = parts;
    Ok(leading)
}

fn part((index, vote): (usize, &Result<Verdict, String>)) -> Component {
    let (pass, score, reason) = match vote {
        Ok(verdict) => (verdict.pass, verdict.score, verdict.reason.clone()),
        Err(reason) => (false, 0.0, reason.clone()),
    };
    Component {
        name: format!("vote {}", index + 1),
        pass,
        score,
        weight: 1.0,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(letter: char) -> Result<Verdict, String> {
        match letter {
            'p' => Ok(Verdict::new(true, 1.0, "good")),
            'f' => Ok(Verdict::new(false, 0.0, "bad")),
            _ => Err("silence".to_owned()),
        }
    }

    fn counted(letters: &str) -> Result<Verdict, Failure> {
        count(letters.chars().map(vote).collect())
    }

    #[test]
    fn the_majority_of_all_votes_decides() {
        for (letters, pass, score, reason) in [
            ("ppp", true, 1.0, "3 of 3 votes passed: good"),
            ("fpp", true, 2.0 / 3.0, "2 of 3 votes passed: good"),
            ("pff", false, 1.0 / 3.0, "2 of 3 votes failed: bad"),
            ("?pp", true, 1.0, "2 of 3 votes passed: good"),
            ("ff?", false, 0.0, "2 of 3 votes failed: bad"),
            ("pfpfp", true, 0.6, "3 of 5 votes passed: good"),
        ] {
            let verdict = counted(letters).expect("a majority");
            assert_eq!((verdict.pass, verdict.reason.as_str()), (pass, reason));
            assert!((verdict.score - score).abs() < 1e-9, "{letters}");
            assert_eq!(verdict.parts.len(), letters.len());
        }
    }

    #[test]
    fn equal_scores_have_themselves_as_their_mean() {
        for score in [0.7, 0.8, 0.1] {
            let same = || Ok(Verdict::new(true, score, "good"));
            let verdict = count(vec![same(), same(), same()]).expect("a majority");
            assert_eq!(verdict.score.to_bits(), score.to_bits());
        }
    }

    #[test]
    fn without_a_majority_there_is_no_verdict() {
        for letters in ["pf?", "p??", "???", "ppff?"] {
            let Err(Failure::Grader(problem)) = counted(letters) else {
                panic!("{letters}: a verdict");
            };
            assert!(problem.reason.contains("no majority"), "{}", problem.reason);
            assert!(problem.reason.contains("silence"), "{}", problem.reason);
        }
    }
}
