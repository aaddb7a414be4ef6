//! Plain data that everything may know: where a text stands, who wrote it and what it may, what is
//! code, what is wrong.
//!
//! Nothing here reads, fills in or decides for a key; nothing here knows another module of this
//! crate.

mod code_files;
mod grants;
mod position;
mod problem;
mod process;
mod script;
mod spelling;
mod trust;

pub use code_files::{CodeFile, CodeFiles, CodeNeeds};
pub use grants::{CredentialGrant, Permissions};
pub(crate) use position::COMMAND_LINE;
pub use position::{Position, on_one_line};
pub(crate) use problem::Findings;
pub use problem::{ConfigError, LoadError, Problem, Warning};
pub use process::{Engine, GIVEN_VARIABLES, Process, is_given};
pub use script::{Code, CodePlace, ProviderCode, Script};
pub(crate) use spelling::did_you_mean;
pub use spelling::{Strictness, misspelt};
pub(crate) use trust::ANY_VARIABLE;
pub use trust::{
    Agreements, Author, DataFile, Level, Role, Terms, TextOrigin, TrustAgreement, TrustRequest,
    TrustSubject, WEBHOOK, named_path,
};
