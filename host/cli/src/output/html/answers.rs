//! Answers as Markdown, each in a template: the script puts it beside the answer as it is.
//!
//! What a template holds does nothing before the script copies it, and then no more than the Markdown that the
//! viewer shows: it is made by the same renderer, which leaves nothing that could run or load. Answers that are mere
//! text, or JSON, have none. Templates come after the cases and take what room these leave on the page.

use std::collections::HashSet;
use std::io::Write;

use runner_eval::record::CaseRecord;
use runner_view::markdown::marked_up;

use super::{Run, answer};

/// Writes the templates of these cases, given by test and column, as far as so many bytes reach.
pub(super) fn write(
    out: &mut dyn Write,
    run: &Run<'_>,
    cases: &HashSet<(u32, u32)>,
    mut room: usize,
) -> anyhow::Result<()> {
    let mut records = run.records.open()?;
    for record in records.by_ref() {
        let record: CaseRecord = serde_json::from_str(&record?)?;
        let place = (record.test_idx, record.prompt_idx);
        if !cases.contains(&place) {
            continue;
        }
        let Some(html) = answer(&record, &run.summary.run_id).and_then(|text| marked_up(&text))
        else {
            continue;
        };
        let template = template(place, &html);
        if template.len() <= room {
            room -= template.len();
            out.write_all(template.as_bytes())?;
        }
    }
    Ok(())
}

fn template((test, column): (u32, u32), html: &str) -> String {
    format!("<template id=\"answer-{test}-{column}\">{html}</template>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::record;
    use runner_eval::record::Outcome;

    #[test]
    fn no_answer_can_leave_its_template() {
        let hostile = "# x\n\n</template><script>alert(1)</script><img src=x onerror=alert(2)>\n\n\
                       ![p](https://evil.example/p.png) `</template>`";
        let record = record(3, 1, Outcome::Failed, hostile);
        let text = answer(&record, "run-1").expect("an answer");
        let written = template((3, 1), &marked_up(&text).expect("it has a heading"));
        assert!(written.starts_with("<template id=\"answer-3-1\"><h1>x</h1>"));
        assert_eq!(written.matches("</template>").count(), 1, "{written}");
        for live in ["<script", "<img", "onerror=alert(2)>"] {
            assert!(!written.contains(live), "{live} in {written}");
        }
    }
}
