//! Pictures as answers: Markdown, as promptfoo writes it, so that a grader, a table and a report
//! see the same text.

/// The longest description, in characters.
const LONGEST: usize = 50;

/// A picture at an address, described by what was asked for.
pub fn markdown(prompt: &str, url: &str) -> String {
    let line = prompt.replace("\r\n", " ").replace(['\n', '\r'], " ");
    let mut description = line.replace('[', "(").replace(']', ")");
    if description.chars().count() > LONGEST {
        description = description.chars().take(LONGEST - 3).collect::<String>() + "...";
    }
    format!("![{description}]({url})")
}

/// What kind of picture the base64 is of, by its first bytes.
pub fn mime_type(base64: &str) -> Option<&'static str> {
    let kinds = [
        ("/9j/", "image/jpeg"),
        ("iVBORw0KGgo", "image/png"),
        ("UklGR", "image/webp"),
    ];
    let mut kinds = kinds.into_iter();
    let found = kinds.find(|(first, _)| base64.starts_with(first));
    found.map(|(_, kind)| kind)
}

/// Base64 of a picture as an address.
pub fn data_url(mime_type: &str, base64: &str) -> String {
    format!("data:{mime_type};base64,{base64}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_description_is_one_short_line_without_brackets() {
        let long = "a [cat]\r\nof many words, so many that they do not fit here";
        let text = super::markdown(long, "u");
        assert_eq!(
            text,
            "![a (cat) of many words, so many that they do not...](u)"
        );
        let full = "é".repeat(50);
        assert_eq!(super::markdown(&full, "u"), format!("![{full}](u)"));
    }
}
