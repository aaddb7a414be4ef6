//! `runner view`: the kept runs as pages, for a browser on this machine.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use runner_view::{Viewer, ViewerError};

use super::CommandContext;
use crate::arguments::View;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::stdout;

/// What opens an address in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer.exe"
} else {
    "xdg-open"
};

/// Serves until Ctrl-C.
pub(super) fn run(arguments: &View, setting: &CommandContext) -> Result<u8, Failure> {
    let viewer = Viewer::bind(setting.store()?, arguments.port).map_err(unbound)?;
    let address = viewer.address();
    stdout::print(&format!("{address}\n"))?;
    let opened = !arguments.no_open && setting.terminal.can_ask && open(&address, setting);
    let next = if opened {
        "the browser shows it"
    } else {
        "open this address in a browser; it works only once"
    };
    setting
        .talk
        .note(&format!("{next}. Ctrl-C ends the server"));
    viewer.serve().map_err(anyhow::Error::new)?;
    Ok(SUCCESS)
}

fn unbound(error: ViewerError) -> Failure {
    let help = match &error {
        ViewerError::Port { port: 1.., .. } => {
            "is another server there? Without --port, a free one is taken"
        }
        _ => "see whether this machine lets programs listen on 127.0.0.1",
    };
    Failure::usage(format!("{:#}", anyhow::Error::new(error))).help(help)
}

/// Asks another program to open the address, and says whether there was one; where there is none, the user
/// does it. The address is on that program's command line for a moment, and worth nothing once the browser
/// has used it.
fn open(address: &str, setting: &CommandContext) -> bool {
    let path = setting.environment.get("PATH").unwrap_or_default();
    let Some(opener) = runner_process::find(Path::new(OPENER), OsStr::new(path)) else {
        return false;
    };
    let mut command = Command::new(opener);
    command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().is_ok()
}
