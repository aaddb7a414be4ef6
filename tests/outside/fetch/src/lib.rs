//! The provider `fetch`: knows of HTTP what WASI offers, through a client that was written for it.
//!
//! `fetch:get` answers with what the address in the prompt says, `fetch:post` sends `{}` there;
//! `fetch:socket` opens a socket instead, and says what that gives. `fetch:must` crashes without an answer.

use runner_plugin::{CallContext, Completion, Error, ErrorCode, Info, Provider, Request, Target};
use wasip2::sockets::network::IpAddressFamily;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wstd::http::{Body, Client};

/// The provider.
pub struct Fetch;

impl Provider for Fetch {
    fn describe() -> Info {
        Info::new("fetch", "0.1.0", "Gets what an address says.").prefix("fetch")
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let answer = match target.name.as_str() {
            "socket" => Err(format!(
                "{:?}",
                create_tcp_socket(IpAddressFamily::Ipv4).err()
            )),
            "must" => Ok(wstd::runtime::block_on(ask("must", &request.prompt)).expect("an answer")),
            name => wstd::runtime::block_on(ask(name, &request.prompt)),
        };
        match answer {
            Ok(text) => Ok(Completion::text(&text)),
            Err(why) => Err(Error::new(ErrorCode::Other, &why)),
        }
    }
}

async fn ask(name: &str, url: &str) -> Result<String, String> {
    let method = if name == "post" { "POST" } else { "GET" };
    let body = if name == "post" { "{}" } else { "" };
    let request = wstd::http::Request::builder()
        .method(method)
        .uri(url)
        .header("runner-credential", "fetch-key")
        .body(Body::from(body))
        .map_err(|error| error.to_string())?;
    let answer = Client::new().send(request).await;
    let mut answer = answer.map_err(|error| format!("{error:#}"))?;
    let status = answer.status();
    let text = answer.body_mut().str_contents().await;
    Ok(format!(
        "{status}: {}",
        text.map_err(|error| error.to_string())?
    ))
}

runner_plugin::export_provider!(Fetch);
