//! The code blocks of a Markdown text that may hold SQL: fenced, and marked `sql` or nothing.

/// The contents of the blocks, in order. A block that is never closed is none.
pub(crate) fn sql(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in text.split('\n') {
        let Some(block) = &mut open else {
            open = begin(line);
            continue;
        };
        if block.ends_at(line) {
            if block.sql {
                blocks.push(block.lines.join("\n"));
            }
            open = None;
        } else {
            block.lines.push(line.to_owned());
        }
    }
    blocks
}

struct Block {
    mark: char,
    length: usize,
    sql: bool,
    lines: Vec<String>,
}

impl Block {
    /// A closing fence is of the same character, at least as long, and alone on its line.
    fn ends_at(&self, line: &str) -> bool {
        fence(line).is_some_and(|(mark, length, rest)| {
            mark == self.mark && length >= self.length && rest.trim().is_empty()
        })
    }
}

fn begin(line: &str) -> Option<Block> {
    let (mark, length, info) = fence(line)?;
    let language = info.trim().to_lowercase();
    Some(Block {
        mark,
        length,
        sql: language.is_empty() || language == "sql",
        lines: Vec::new(),
    })
}

/// The fence that a line begins with: its character, its length, and what follows.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let rest = line.trim_start_matches([' ', '\t']);
    if line.len() - rest.len() > 3 {
        return None;
    }
    let mark = rest.chars().next().filter(|c| ['`', '~'].contains(c))?;
    let info = rest.trim_start_matches(mark);
    let length = rest.len() - info.len();
    (length >= 3).then_some((mark, length, info))
}

#[cfg(test)]
mod tests {
    use super::sql;

    #[test]
    fn blocks_of_sql_are_found() {
        for (text, expected) in [
            ("```sql\nSELECT 1\n```", vec!["SELECT 1"]),
            ("```SQL\nSELECT 1\n```", vec!["SELECT 1"]),
            (
                "a\n```\nSELECT 1;\nSELECT 2\n```\nb",
                vec!["SELECT 1;\nSELECT 2"],
            ),
            ("```python\nx\n```\n```sql\ny\n```", vec!["y"]),
            ("~~~sql\n```\n~~~", vec!["```"]),
            ("````\n```\n````", vec!["```"]),
            ("  ```sql\r\ny\r\n  ```", vec!["y"]),
            ("    ```sql\ny\n    ```", vec![]),
            ("```sql\nnever closed", vec![]),
            ("``sql`` inline", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(sql(text), expected, "{text:?}");
        }
    }
}
