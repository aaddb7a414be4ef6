//! A request written as text: request line, headers, an empty line, the body.
//!
//! It is taken apart before its templates are filled, so that a line break in a variable
//! cannot add a header.

/// A request in its parts, templates unfilled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    pub(crate) method: &'a str,
    /// What stands behind the method: a path, or a whole address.
    pub(crate) target: &'a str,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: Option<&'a str>,
}

/// Takes a request apart; the error says which line is none of a request.
pub(crate) fn parse(text: &str) -> Result<Raw<'_>, String> {
    let text = text.trim_start();
    let (head, body) = match text
        .find("\n\n")
        .zip(Some(2))
        .into_iter()
        .chain(text.find("\r\n\r\n").zip(Some(4)))
        .min()
    {
        Some((at, width)) => (&text[..at], &text[at + width..]),
        None => (text, ""),
    };
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default().trim();
    let (method, rest) = first.split_once(' ').unwrap_or((first, ""));
    // The target may hold spaces within a template: the protocol is what stands last.
    let target = rest
        .rsplit_once(' ')
        .filter(|(_, end)| end.starts_with("HTTP/"));
    let target = target.map_or(rest, |(target, _)| target).trim();
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if !is_method || target.is_empty() {
        return Err(format!(
            "the first line must be like `POST /path HTTP/1.1`, not `{first}`"
        ));
    }
    let headers = lines
        .map(|line| {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| format!("`{}` is no header", line.trim()))?;
            Ok((name.trim(), value.trim()))
        })
        .collect::<Result<_, String>>()?;
    let body = body.trim();
    Ok(Raw {
        method,
        target,
        headers,
        body: (!body.is_empty()).then_some(body),
    })
}
