//! Seeing it: `runner view`, the runs that are kept as pages of a local server.
//!
//! People look at answers more than at numbers. The server asks the store for what one page
//! shows and sends it as HTML, so that a run of a million cases opens as fast as one of ten.
//! Pages work without a script; the script adds keys, what loads later, and runs that grow.
//!
//! It knows the store and HTTP, and neither configs nor evaluations: of a record it reads what it
//! shows, and takes a record of an older format as well.
//!
//! - [`Viewer`] listens on the loopback interface, lets one browser in, and serves until it is told
//!   to end;
//! - [`pairing`] says which columns and cases of two runs are the same one;
//! - [`changes`] says what changed in prompts, providers and plugins between them;
//! - [`report`] and [`folder`](folder()) make pages of a run that need no server;
//! - [`people`] keeps what people say of cases, and settles those that wait for it;
//! - [`significance`] says whether they differ by more than chance.
//!
//! What models and datasets say is hostile. It stands on a page as text or as Markdown of which
//! nothing is left that could run or load; a content security policy allows no script but ours;
//! who has no cookie, names another host or comes from another site gets nothing.

mod address;
mod agreement;
mod assets;
pub mod changes;
mod comparing;
mod door;
pub mod edits;
mod facts;
mod folder;
mod leads;
mod left;
mod links;
mod live;
mod markdown;
mod pages;
pub mod pairing;
pub mod people;
mod record;
mod repeats;
mod request;
mod server;
pub mod significance;
mod site;
mod sums;
pub mod words;

pub use folder::{FolderError, folder};
pub use pages::{MeanScore, ReportError, ReportExtras, TextTable, report};
pub use server::{Viewer, ViewerError};
