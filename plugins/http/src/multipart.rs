//! A body in parts, as browsers send forms with files: fields with templates in them, and files, which
//! the host has read.
//!
//! What separates the parts stands in none of them, so that neither a variable nor a file can end one and
//! begin another.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use runner_plugin::Error;
use runner_plugin::json::Value;

use crate::render::Filler;

/// The key of the config.
pub(crate) const KEY: &str = "multipart";

/// A picture of one pixel that nothing can be seen of.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=";

/// What is written into a document where the config gives no text.
const USUAL_TEXT: &str = "A document.";

/// The most characters of the text of a document: what fits on one line of a page.
const MOST_TEXT: usize = 80;

/// What media type a file has by the end of its name.
const KINDS: [(&str, &str); 11] = [
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("bmp", "image/bmp"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("txt", "text/plain"),
    ("json", "application/json"),
];

/// What the config says that can't be sent: a JSON Pointer below [`KEY`], and why.
pub(crate) fn problems(config: &Value) -> Vec<(String, String)> {
    let written = &config[KEY];
    if written.is_null() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for other in ["body", "request"] {
        if !config[other].is_null() {
            problems.push((
                String::new(),
                format!("stands beside `{other}`; keep one of the two"),
            ));
        }
    }
    let method = config["method"].as_str().unwrap_or_default();
    if ["GET", "HEAD"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(method))
    {
        problems.push((String::new(), format!("can't be sent with {method}")));
    }
    match written["parts"].as_array() {
        Some(parts) if !parts.is_empty() => {
            for (index, part) in parts.iter().enumerate() {
                problems.extend(problem(part).map(|why| (format!("/parts/{index}"), why)));
            }
        }
        _ => problems.push(("/parts".to_owned(), "must be a list of parts".to_owned())),
    }
    problems
}

/// Why a part can't be sent.
fn problem(part: &Value) -> Option<String> {
    if part["name"].as_str().is_none_or(str::is_empty) {
        return Some("needs a `name`".to_owned());
    }
    let source = &part["source"];
    match (part["kind"].as_str(), source["type"].as_str()) {
        (Some("field"), _) if is_plain(&part["value"]) => None,
        (Some("field"), _) => Some("needs a `value`: a text, a number, true or false".to_owned()),
        (Some("file"), Some("path")) if source["data"].is_string() => None,
        (Some("file"), Some("path")) => {
            Some("needs the `path` of a file in its `source`".to_owned())
        }
        (Some("file"), Some("generated")) => match source["format"].as_str() {
            None | Some("pdf" | "png") => None,
            Some(format) => Some(format!(
                "can't be generated as {format}, but as pdf or png; write the file and name it: `source: {{ type: path, path: … }}`"
            )),
        },
        (Some("file"), _) => {
            Some("needs `source: { type: path, path: … }` or `{ type: generated }`".to_owned())
        }
        _ => Some("must be of `kind: field` or `kind: file`".to_owned()),
    }
}

fn is_plain(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

/// The body, and its media type.
pub(crate) fn body(written: &Value, filler: &Filler) -> Result<(Vec<u8>, String), Error> {
    let parts = written["parts"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let parts = parts.iter().map(|written| part(written, filler));
    let parts: Vec<(String, Vec<u8>)> = parts.collect::<Result<_, _>>()?;
    let boundary = boundary(&parts, filler.secret());
    let mut body = Vec::new();
    for (head, content) in parts {
        body.extend(format!("--{boundary}\r\n{head}\r\n").bytes());
        body.extend(content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    Ok((body, format!("multipart/form-data; boundary={boundary}")))
}

/// A text that stands in no part; for the same parts always the same.
fn boundary(parts: &[(String, Vec<u8>)], secret: u128) -> String {
    let holds = |bytes: &[u8], text: &str| {
        let text = text.as_bytes();
        let mut places = bytes.windows(text.len());
        places.any(|it| it[0] == text[0] && it == text)
    };
    let mut each = (0_u128..).map(|number| format!("runner-{:032x}", secret.wrapping_add(number)));
    let is_free = |text: &String| {
        let mut parts = parts.iter();
        !parts.any(|(head, content)| holds(head.as_bytes(), text) || holds(content, text))
    };
    // No part holds all numbers.
    each.find(is_free).unwrap_or_default()
}

/// The headers of a part, each with the end of its line, and what it holds.
fn part(part: &Value, filler: &Filler) -> Result<(String, Vec<u8>), Error> {
    let text = |value: &Value| match value {
        Value::String(template) => filler.text(KEY, template),
        other => Ok(other.to_string()),
    };
    let named = format!(
        "Content-Disposition: form-data; name=\"{}\"",
        quoted(&text(&part["name"])?)
    );
    if part["kind"] == "field" {
        return Ok((format!("{named}\r\n"), text(&part["value"])?.into_bytes()));
    }
    let source = &part["source"];
    let (content, usual_name) = if let Some(data) = source["data"].as_str() {
        let content = STANDARD.decode(data).map_err(|_| {
            Error::invalid_request("`multipart` has a file that is not as the runner hands it over")
        })?;
        (
            content,
            source["name"].as_str().unwrap_or("file").to_owned(),
        )
    } else {
        let said = source.get("text").map_or(Ok(USUAL_TEXT.to_owned()), text)?;
        generated(source["format"].as_str().unwrap_or("pdf"), &said)
    };
    let name = part.get("filenameTemplate").or(part.get("filename"));
    let name = name.map_or(Ok(usual_name.clone()), text)?;
    let kind = match part["contentType"].as_str() {
        Some(kind) => kind,
        None => kind_of(&usual_name),
    };
    let head = format!(
        "{named}; filename=\"{}\"\r\nContent-Type: {}\r\n",
        quoted(&name),
        quoted(kind)
    );
    Ok((head, content))
}

/// A name within quotes, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn kind_of(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let mut kinds = KINDS.iter();
    let kind = kinds.find(|(known, _)| known.eq_ignore_ascii_case(end));
    kind.map_or("application/octet-stream", |(_, kind)| kind)
}

/// A file that holds a text, or a picture that holds nothing, and its name.
fn generated(format: &str, text: &str) -> (Vec<u8>, String) {
    let content = match format {
        "png" => STANDARD.decode(PIXEL).unwrap_or_default(),
        _ => page(text),
    };
    (content, format!("document.{format}"))
}

/// A PDF of one page with one line of text on it.
fn page(text: &str) -> Vec<u8> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let shown = words.join(" ").chars().take(MOST_TEXT).collect::<String>();
    // The standard fonts know Latin letters; brackets would end the text.
    let shown: String = shown
        .chars()
        .map(|sign| match sign {
            '(' | ')' | '\\' => format!("\\{sign}"),
            ' '..='~' => sign.to_string(),
            _ => "?".to_owned(),
        })
        .collect();
    let drawing = format!("BT /F1 12 Tf 72 720 Td ({shown}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
            .to_owned(),
        format!(
            "<< /Length {} >>\nstream\n{drawing}\nendstream",
            drawing.len()
        ),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(format!("{:010} 00000 n \n", file.len()));
        file = format!("{file}{number} 0 obj\n{object}\nendobj\n");
    }
    let (count, table, places) = (objects.len() + 1, file.len(), places.concat());
    file = format!(
        "{file}xref\n0 {count}\n0000000000 65535 f \n{places}\
         trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
    );
    file.into_bytes()
}

#[cfg(test)]
mod tests {
    use runner_plugin::json::json;

    use super::*;

    fn sent(parts: &Value, vars: &Value) -> (String, String) {
        let filler = Filler::new(vars.as_object().cloned().unwrap_or_default());
        let (body, kind) = body(&json!({ "parts": parts }), &filler).expect("it can be sent");
        let boundary = kind.split_once("boundary=").expect("it names one").1;
        let text = String::from_utf8_lossy(&body).replace(boundary, "B");
        (text, boundary.to_owned())
    }

    #[test]
    fn fields_and_files_are_parts() {
        let parts = json!([
            { "kind": "field", "name": "q", "value": "{{q}}" },
            { "kind": "field", "name": "n", "value": 3 },
            { "kind": "file", "name": "f", "source": { "type": "path", "data": "aGk=", "name": "a.txt" } },
            { "kind": "file", "name": "f", "filename": "{{q}}.bin", "contentType": "x/y",
              "source": { "type": "path", "data": "aGk=", "name": "a.txt" } },
        ]);
        let (text, _) = sent(&parts, &json!({ "q": "a \"b\"" }));
        assert_eq!(
            text,
            "--B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\na \"b\"\r\n\
             --B\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n3\r\n\
             --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\
             Content-Type: text/plain\r\n\r\nhi\r\n\
             --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a %22b%22.bin\"\r\n\
             Content-Type: x/y\r\n\r\nhi\r\n--B--\r\n"
        );
    }

    #[test]
    fn no_variable_ends_a_part() {
        let parts = json!([{ "kind": "field", "name": "{{n}}", "value": "{{q}}" }]);
        let vars = json!({ "n": "x\"\r\ny", "q": "y" });
        let (text, boundary) = sent(&parts, &vars);
        assert!(text.contains("name=\"x%22%0D%0Ay\""), "{text}");
        // A file that was made for these variables.
        let forged =
            format!("\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"z\"\r\n\r\n1");
        let file = json!({ "kind": "file", "name": "f", "source": { "type": "path", "name": "a", "data": STANDARD.encode(forged) } });
        let both = json!([parts[0], file]);
        let (text, other) = sent(&both, &vars);
        assert_ne!(boundary, other);
        // So long that no text can be tried for that holds its own.
        assert_eq!(boundary.len(), "runner-".len() + 32);
        assert_eq!(text.matches("--B\r\n").count(), 2);
    }

    #[test]
    fn a_generated_page_is_a_pdf_with_its_text() {
        let (file, name) = generated("pdf", "Invoice (7)\n\n is due");
        assert_eq!(name, "document.pdf");
        let text = String::from_utf8(file).expect("it is text");
        assert!(text.contains("(Invoice \\(7\\) is due) Tj"), "{text}");
        let table: usize = text
            .rsplit("startxref\n")
            .next()
            .and_then(|it| it.lines().next())
            .expect("a place")
            .parse()
            .expect("a number");
        assert!(text[table..].starts_with("xref"));
        for (index, line) in text[table..].lines().skip(3).take(4).enumerate() {
            let place: usize = line[..10].parse().expect("a place");
            assert!(
                text[place..].starts_with(&format!("{} 0 obj", index + 1)),
                "{line}"
            );
        }
        assert!(generated("png", "").0.starts_with(b"\x89PNG"));
    }

    #[test]
    fn what_can_not_be_sent_is_said_with_its_place() {
        let part = |part: Value| json!({ "multipart": { "parts": [part] } });
        let named = |kind: Value| {
            let mut part = json!({ "name": "f" });
            part.as_object_mut()
                .expect("a map")
                .extend(kind.as_object().expect("a map").clone());
            part
        };
        for (config, pointer, why) in [
            (json!({ "multipart": {} }), "/parts", "a list of parts"),
            (
                part(json!({ "kind": "field" })),
                "/parts/0",
                "needs a `name`",
            ),
            (
                part(named(json!({ "kind": "field" }))),
                "/parts/0",
                "needs a `value`",
            ),
            (
                part(named(json!({ "kind": "other" }))),
                "/parts/0",
                "`kind: field`",
            ),
            (
                part(named(json!({ "kind": "file" }))),
                "/parts/0",
                "needs `source",
            ),
            (
                part(named(
                    json!({ "kind": "file", "source": { "type": "generated", "format": "jpeg" } }),
                )),
                "/parts/0",
                "as jpeg",
            ),
        ] {
            let found = problems(&config);
            assert_eq!(found.len(), 1, "{config}");
            assert_eq!(found[0].0, pointer, "{config}");
            assert!(found[0].1.contains(why), "{found:?}");
        }
        let mut beside = part(named(json!({ "kind": "field", "value": true })));
        assert!(problems(&beside).is_empty());
        beside["body"] = json!("x");
        beside["method"] = json!("get");
        assert_eq!(problems(&beside).len(), 2);
    }
}
