//! Virtual WASI, linked to the state of a call: each interface by its name, with what is behind it.
//!
//! `wasi` knows what a guest meets, and no call; here is what a call has to give it. What is linked
//! and what `wasi` says that it offers are one list ([`crate::wasi::OFFERED`]).
//!
//! Toolchains of JavaScript and Python import sockets and `wasi:http` whether the author's code uses
//! them or not, so a component that has them loads. A socket is refused as the guest's own libraries
//! know it, as an error of the system, and the log says why.

use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2;
use wasmtime_wasi::p2::bindings::{cli, filesystem, random, sockets};
use wasmtime_wasi::random::{WasiRandom, WasiRandomCtx};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtxView, WasiSocketsView as _};
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::WasiHttp;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, Method};
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

use super::CallState;
use crate::abi::Level;
use crate::limits::MAX_NAME_BYTES;

/// The interface that the library links, by the version of its WIT.
const TYPES: &str = "wasi:http/types@0.2.12";

/// What a guest hears of a socket.
const NO_SOCKETS: &str = "sockets are denied: a plugin reaches the network through \
    `runner:plugin/http`, or through `wasi:http` where `permissions.wasi_http` grants it";

/// Links [`crate::wasi::OFFERED`], each by name, so that nothing comes with a new version of the
/// library.
pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    p2::add_to_linker_proxy_interfaces_async(linker)?;
    cli::environment::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::exit::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_input::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_output::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    filesystem::types::add_to_linker::<CallState, WasiFilesystem>(linker, CallState::filesystem)?;
    filesystem::preopens::add_to_linker::<CallState, WasiFilesystem>(
        linker,
        CallState::filesystem,
    )?;
    random::insecure::add_to_linker::<CallState, WasiRandom>(linker, random_of)?;
    random::insecure_seed::add_to_linker::<CallState, WasiRandom>(linker, random_of)?;
    network(linker)
}

/// Links sockets that can't be opened, and requests.
fn network(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let options = sockets::network::LinkOptions::default();
    sockets::instance_network::add_to_linker::<CallState, WasiSockets>(linker, denied)?;
    sockets::network::add_to_linker::<CallState, WasiSockets>(linker, &options, denied)?;
    sockets::ip_name_lookup::add_to_linker::<CallState, WasiSockets>(linker, denied)?;
    sockets::tcp::add_to_linker::<CallState, WasiSockets>(linker, denied)?;
    sockets::tcp_create_socket::add_to_linker::<CallState, WasiSockets>(linker, denied)?;
    sockets::udp::add_to_linker::<CallState, WasiSockets>(linker, denied)?;
    sockets::udp_create_socket::add_to_linker::<CallState, WasiSockets>(linker, denied)?;
    let options = types::LinkOptions::default();
    outgoing_handler::add_to_linker::<CallState, WasiHttp>(linker, requests)?;
    types::add_to_linker::<CallState, WasiHttp>(linker, &options, requests)?;
    bound_names(linker)
}

/// The library bounds an address and a method by nothing but what may cross at once, for each of a
/// thousand handles.
fn bound_names(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store, (request, method): (Resource<HostOutgoingRequest>, Method)| {
            if matches!(&method, Method::Other(name) if name.len() > MAX_NAME_BYTES) {
                return Ok((Err(()),));
            }
            Ok((requests(store.data_mut()).set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store, (request, authority): (Resource<HostOutgoingRequest>, Option<String>)| {
            if authority
                .as_ref()
                .is_some_and(|it| it.len() > MAX_NAME_BYTES)
            {
                return Ok((Err(()),));
            }
            Ok((requests(store.data_mut()).set_authority(request, authority)?,))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn random_of(state: &mut CallState) -> &mut WasiRandomCtx {
    state.ctx().ctx.random()
}

/// What is behind a function of `wasi:sockets`: nothing is allowed, and the log says so.
fn denied(state: &mut CallState) -> WasiSocketsCtxView<'_> {
    if state.wasi().first_socket() {
        state.log.line(Level::Warn, NO_SOCKETS, Vec::new());
    }
    state.sockets()
}

fn requests(state: &mut CallState) -> <WasiHttp as HasData>::Data<'_> {
    state.wasi().requests()
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi().view()
    }
}
