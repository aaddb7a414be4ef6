//! Names as parts of an address. They come from a config or from the options of one request,
//! which may be a stranger's, and must not lead anywhere else.

use std::fmt::Write as _;

use runner_plugin::Error;

/// A text as the value of a query parameter.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a string takes everything");
        }
    }
    encoded
}

/// A name as one segment of a path.
///
/// # Errors
/// `invalid-request` for an empty name and for `.` and `..`, which are steps of a path however
/// they are encoded.
pub fn segment(name: &str) -> Result<String, Error> {
    if ["", ".", ".."].contains(&name) {
        return Err(Error::invalid_request(format!(
            "`{name}` can't be a part of the API's address; check the model's name and `apiVersion`"
        )));
    }
    Ok(encoded(name))
}
