//! Names as parts of an address. They come from a config or from the options of one request,
//! which may be a stranger's, and must not lead anywhere else.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use runner_plugin::Error;

/// All but what stands for itself anywhere in an address (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A text as the value of a query parameter.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
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
