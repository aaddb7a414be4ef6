//! A list written as one string: `apple, "red, ripe", pear`.
//!
//! Fields are split at commas and trimmed; empty ones don't count. A field in double quotes
//! keeps its commas and spaces, and holds a quote as `\"` or `""`. Not a CSV reader: there are
//! no lines and no header.

/// Splits a list into its fields.
///
/// # Errors
/// What is wrong with the quotes, in words.
pub(crate) fn split(list: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = list.trim_start();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
            continue;
        }
        if let Some(quoted) = rest.strip_prefix('"') {
            let (field, after) = unquote(quoted)?;
            let after = after.trim_start();
            if !after.is_empty() && !after.starts_with(',') {
                return Err(format!("a comma is missing after the field \"{field}\""));
            }
            fields.push(field);
            rest = after;
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            fields.push(rest[..end].trim_end().to_owned());
            rest = &rest[end..];
        }
    }
    Ok(fields)
}

/// Reads up to the closing quote: the field, and what follows it.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        match (character, next) {
            ('\\', Some(escaped @ ('"' | '\\'))) | ('"', Some(escaped @ '"')) => {
                field.push(escaped);
                characters.next();
            }
            ('"', _) => return Ok((field, &text[at + 1..])),
            _ => field.push(character),
        }
    }
    Err("a quote is opened and never closed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_list_is_split_at_its_commas() {
        for (list, expected) in [
            ("a,b", vec!["a", "b"]),
            (" a , b c ", vec!["a", "b c"]),
            ("a,,b,", vec!["a", "b"]),
            ("", vec![]),
            (" , ", vec![]),
            (r#""a, b",c"#, vec!["a, b", "c"]),
            (r#"" a " , c"#, vec![" a ", "c"]),
            (r#""say \"hi\"""#, vec![r#"say "hi""#]),
            (r#""C:\\dir\\", \\"#, vec![r"C:\dir\", r"\\"]),
            (r#""say ""hi""", x"#, vec![r#"say "hi""#, "x"]),
            (r#"5" disk, b"#, vec![r#"5" disk"#, "b"]),
            ("ä,ö", vec!["ä", "ö"]),
        ] {
            assert_eq!(
                split(list),
                Ok(expected.into_iter().map(str::to_owned).collect()),
                "{list}"
            );
        }
    }

    #[test]
    fn wrong_quotes_are_named() {
        assert_eq!(
            split(r#""a" b"#),
            Err(r#"a comma is missing after the field "a""#.to_owned())
        );
        assert_eq!(
            split(r#"a, "b"#),
            Err("a quote is opened and never closed".to_owned())
        );
    }
}
