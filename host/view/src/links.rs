//! The links of a page that is taken from the server.

/// With the addresses of the server as names of files; a link to what is not there leads nowhere. Texts of others may
/// look like one: they are escaped, so none of them stands behind a `<`.
pub(crate) fn links(html: &str, name: &dyn Fn(&str) -> Option<String>) -> String {
    let mut told = String::with_capacity(html.len());
    let mut parts = html.split('<');
    told.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (tag, text) = part.split_at(part.find('>').unwrap_or(part.len()));
        told.push('<');
        link(tag, name, &mut told);
        told.push_str(text);
    }
    told
}

/// Those of one tag.
fn link(tag: &str, name: &dyn Fn(&str) -> Option<String>, told: &mut String) {
    let mut rest = tag;
    while let Some((at, attribute)) = [" href=\"/", " src=\"/"]
        .iter()
        .filter_map(|it| Some((rest.find(it)?, *it)))
        .min()
    {
        told.push_str(&rest[..at]);
        let address = &rest[at + attribute.len() - 1..];
        let end = address.find('"').unwrap_or(address.len());
        let (address, after) = (&address[..end], address.get(end + 1..).unwrap_or_default());
        if let Some(name) = name(&address.replace("&amp;", "&")) {
            let attribute = attribute.trim_end_matches('/');
            told.push_str(attribute);
            told.push_str(&name);
            told.push('"');
        }
        rest = after;
    }
    told.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_files_or_nothing() {
        let name = |address: &str| (address == "/a?b&c").then(|| "a.html".to_owned());
        let html = "<a class=\"x\" href=\"/a?b&amp;c\">1</a><a href=\"/z\">2</a><a href=\"https://x.example/\">3</a>";
        assert_eq!(
            links(html, &name),
            "<a class=\"x\" href=\"a.html\">1</a><a>2</a><a href=\"https://x.example/\">3</a>"
        );
        // An answer that looks like links: each of them was sought anew in all of the page.
        let text = format!("<p>see{}</p>", " href=\"/\"".repeat(200_000));
        assert_eq!(links(&text, &name), text);
    }
}
