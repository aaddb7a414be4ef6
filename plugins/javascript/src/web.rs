//! UTF-8 and addresses for `prelude/web.js`: what the standards make long in JavaScript and what
//! libraries have.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine calls these functions with what it owns"
)]

use rquickjs::{Ctx, Object, Result, TypedArray};
use url::{Url, quirks};

/// A text as UTF-8.
pub(crate) fn encode(ctx: Ctx<'_>, text: String) -> Result<TypedArray<'_, u8>> {
    TypedArray::new(ctx, text.into_bytes())
}

/// UTF-8 as a text. What is none becomes the replacement character, or makes it `None` if it
/// must not.
#[expect(
    unsafe_code,
    reason = "the bytes are read before the engine, which could move them, runs again"
)]
pub(crate) fn decode(bytes: TypedArray<'_, u8>, fatal: bool) -> Option<String> {
    // SAFETY: nothing of the engine runs while the slice lives.
    let bytes = unsafe { bytes.as_bytes() }.unwrap_or_default();
    if fatal {
        return std::str::from_utf8(bytes).ok().map(str::to_owned);
    }
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// The parts of an address: of `text`, relative to the address `other`, or, if there is a
/// `value`, of the address `text` after its part `other` was set to that. `None` if it is none.
pub(crate) fn url(
    ctx: Ctx<'_>,
    text: String,
    other: Option<String>,
    value: Option<String>,
) -> Result<Option<Object<'_>>> {
    let read = match (&other, &value) {
        (Some(name), Some(value)) => changed(&text, name, value),
        (Some(base), None) => Url::parse(base).and_then(|base| base.join(&text)).ok(),
        (None, _) => Url::parse(&text).ok(),
    };
    let Some(read) = read else { return Ok(None) };
    let parts = Object::new(ctx)?;
    parts.set("href", quirks::href(&read))?;
    parts.set("origin", quirks::origin(&read))?;
    parts.set("protocol", quirks::protocol(&read))?;
    parts.set("username", quirks::username(&read))?;
    parts.set("password", quirks::password(&read))?;
    parts.set("host", quirks::host(&read))?;
    parts.set("hostname", quirks::hostname(&read))?;
    parts.set("port", quirks::port(&read))?;
    parts.set("pathname", quirks::pathname(&read))?;
    parts.set("search", quirks::search(&read))?;
    parts.set("hash", quirks::hash(&read))?;
    Ok(Some(parts))
}

/// The address after a part was set. A value that does not fit changes nothing, as the standard
/// has it; only `href` must be an address.
fn changed(text: &str, name: &str, value: &str) -> Option<Url> {
    let mut url = Url::parse(text).ok()?;
    match name {
        "href" => return Url::parse(value).ok(),
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        "hash" => quirks::set_hash(&mut url, value),
        _ => {
            let set = match name {
                "protocol" => quirks::set_protocol,
                "username" => quirks::set_username,
                "password" => quirks::set_password,
                "host" => quirks::set_host,
                "hostname" => quirks::set_hostname,
                _ => quirks::set_port,
            };
            // A part that doesn't fit leaves the address as it was.
            let _ = set(&mut url, value);
        }
    }
    Some(url)
}
