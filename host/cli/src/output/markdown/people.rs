//! What people said of the answers of a run: how many thumbs, which labels, and the first comments.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use runner_store::Annotation;

use super::{code, escaped};
use crate::detail;
use crate::figures;
use crate::output::{Run, parsed};
use crate::visible;

/// Cases of which it is told what was said, if that was more than a thumb.
const MOST_CASES: u64 = 10;
/// Characters of what was said of one.
const SAID_CHARS: usize = 200;
/// Labels that are counted.
const MOST_LABELS: usize = 10;

/// What there is to tell of it; nothing where nothing was said.
pub(super) fn told(run: &Run<'_>) -> anyhow::Result<String> {
    let (mut cases, mut up, mut down) = (0_u64, 0_u64, 0_u64);
    let mut labels: BTreeMap<String, u64> = BTreeMap::new();
    let (mut rows, mut wordy) = (String::new(), 0_u64);
    for text in run.records.open()? {
        let text = text?;
        // Most runs have none, and need not be read in full again.
        if !text.contains("\"annotation\":{") {
            continue;
        }
        let record = parsed(&text)?;
        let Some(said) = &record.annotation else {
            continue;
        };
        cases += 1;
        up += u64::from(said.thumb == Some(true));
        down += u64::from(said.thumb == Some(false));
        if let Some(label) = &said.label {
            *labels.entry(label.clone()).or_default() += 1;
        }
        let thumb_alone = Annotation {
            thumb: said.thumb,
            ..Annotation::default()
        };
        if *said == thumb_alone {
            continue;
        }
        wordy += 1;
        if wordy <= MOST_CASES {
            let told = detail::said(said);
            let told = visible::line(&told).into_owned();
            let told = escaped(&visible::cut(&told, SAID_CHARS));
            // Writing to a string can't fail.
            let _ = writeln!(
                rows,
                "<li>test {}, column {}: <code>{told}</code></li>",
                record.test_idx, record.prompt_idx
            );
        }
    }
    if cases == 0 {
        return Ok(String::new());
    }
    let mut counts = vec![
        figures::counted(cases, "case", "cases"),
        figures::counted(up, "thumb up", "thumbs up"),
        figures::counted(down, "thumb down", "thumbs down"),
    ];
    let mut labels: Vec<(&String, &u64)> = labels.iter().collect();
    labels.sort_by_key(|(_, count)| Reverse(**count));
    let labels = labels.iter().take(MOST_LABELS);
    counts.extend(labels.map(|(label, count)| format!("{count} × {}", code(label))));
    let counts = counts.join(", ");
    let mut text = format!("\n#### What people said\n\n<p>{counts}</p>\n");
    if wordy > 0 {
        let _ = write!(text, "\n<ul>\n{rows}</ul>\n");
    }
    let more = wordy.saturating_sub(MOST_CASES);
    if more > 0 {
        let more = figures::counted(more, "case is", "cases are");
        let _ = writeln!(text, "\n{more} left out.");
    }
    Ok(text)
}
