//! What the APIs of AWS have in common: a region, the address that follows from it, a key that
//! signs, and errors that are named in a header.
//!
//! Signing is the host's. A plugin names the service in its credential's scheme, and never sees
//! key or token.

use runner_plugin::json::Value;
use runner_plugin::{CredentialWant, Error, ErrorCode, Info, http};

use crate::failure;
use crate::knobs::{Knobs, Refused};

/// The name by which requests refer to the key.
pub const KEY: &str = "aws-key";

/// The config key of the region, which the host reads too.
pub const REGION: &str = "region";

/// The region if nobody names one, as promptfoo has it.
const USUAL_REGION: &str = "us-east-1";

/// A profile of the person's is theirs to choose.
pub const PROFILE: Refused = (
    "profile",
    "is not read from a config; export AWS_PROFILE, or the profile's keys: \
     eval \"$(aws configure export-credentials --profile NAME --format env)\"",
);

/// Wants a key that signs for `service`, and the variables of the region.
#[must_use]
pub fn wants(info: Info, service: &str, regions: &[&str]) -> Info {
    let scheme = format!("aws-sigv4:{service}");
    let key = CredentialWant::new(
        KEY,
        "AWS_SECRET_ACCESS_KEY",
        &scheme,
        "to sign requests in your name",
    )
    .value_key("secretAccessKey");
    let info = info.credential(key);
    regions
        .iter()
        .fold(info, |info, env| info.setting(env, REGION))
}

/// Sets the address in the knobs, where the config names none: `host` in its region, where `REGION`
/// stands for that.
///
/// # Errors
/// `invalid-request` for a region that is none.
pub fn find(knobs: &mut Knobs, host: &str) -> Result<(), Error> {
    let region = knobs.text(REGION).unwrap_or(USUAL_REGION);
    let is_of_name = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == b'-';
    if region.is_empty() || !region.bytes().all(is_of_name) {
        return Err(Error::invalid_request(format!(
            "`{region}` is no region of AWS; write one such as `region: {USUAL_REGION}`"
        )));
    }
    if knobs.base_url.is_empty() {
        let domain = if region.starts_with("cn-") {
            "amazonaws.com.cn"
        } else {
            "amazonaws.com"
        };
        knobs.base_url = format!("https://{}.{domain}", host.replace("REGION", region));
    }
    Ok(())
}

/// As [`failure::check`], and by the name that AWS gives the error in a header.
///
/// # Errors
/// What the API reports.
pub fn check(response: &http::Response) -> Result<Value, Error> {
    failure::check(response).map_err(|error| named(response, error))
}

/// The error with the code that its name stands for.
pub fn named(response: &http::Response, mut error: Error) -> Error {
    let name = response.header("x-amzn-errortype").unwrap_or_default();
    let name = name.split([':', ',']).next().unwrap_or_default();
    if let Some(code) = code(name).filter(|_| !response.is_success()) {
        error.code = code;
    }
    error
}

fn code(name: &str) -> Option<ErrorCode> {
    Some(match name {
        "ThrottlingException" => ErrorCode::RateLimited,
        "ServiceQuotaExceededException" => ErrorCode::QuotaExhausted,
        "AccessDeniedException"
        | "ExpiredTokenException"
        | "InvalidSignatureException"
        | "UnrecognizedClientException" => ErrorCode::Auth,
        "ResourceNotFoundException" => ErrorCode::NotFound,
        "ModelTimeoutException" => ErrorCode::Timeout,
        "ModelNotReadyException"
        | "InternalServerException"
        | "InternalFailure"
        | "ServiceUnavailableException"
        | "ServiceUnavailable" => ErrorCode::Transient,
        _ => return None,
    })
}
