//! Files that nobody else can exchange, read or put a link in the way of.
//!
//! A path is read anew at each use, so it may lead elsewhere by then. Everything here looks at what
//! it opened, and works relative to folders that it holds open:
//!
//! - [`Folder`]: files are made, opened and renamed in it, whatever becomes of its name;
//! - [`Replacement`]: a new file takes the place of an old one when it is complete;
//! - [`PrivateFolder`]: what is handed out of it was written by this user and nobody else;
//! - [`bytes_up_to`] and [`text_up_to`]: what has no end is read no further.
//!
//! Every crate that writes files uses these; none knows of configs, runs or plugins.

mod folder;
mod private;
mod replacement;
mod small;

pub use folder::{Folder, try_place};
pub use private::{PrivateFile, PrivateFolder, is_untrusted, make_private};
pub use replacement::Replacement;
pub use small::{bytes_up_to, text_up_to};

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAccess {
    /// This user alone: it holds prompts, answers or agreements.
    Owner,
    /// Whom the process's file mode creation mask leaves, as for any file that a program writes.
    Usual,
}
