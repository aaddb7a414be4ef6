//! A response that a guest reads while it comes.
//!
//! The exchange is a future that goes on while the guest waits for it, and no further: what the guest does not read
//! stays in the connection. Dropping it cancels the exchange, as with a guest that waits for the whole response.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use runner_gateway::{Piece, Pieces};
use runner_sandbox::PiecesOfResponse;
use runner_sandbox::abi;

type Ended = Result<abi::HttpResponse, abi::Error>;

/// See the module.
pub(super) struct Streamed {
    pieces: Arc<Pieces>,
    /// Takes the time to the first token; `None`: what it took is void.
    note: Box<dyn Fn(Option<Duration>) + Send + Sync>,
    exchange: Exchange,
    notes_first_token: bool,
}

enum Exchange {
    Open(BoxFuture<'static, Ended>),
    Ended(Ended),
}

impl Streamed {
    /// An exchange that tells `pieces` of its response. It goes out when it is first waited for.
    pub(super) fn of(
        exchange: BoxFuture<'static, Ended>,
        pieces: Arc<Pieces>,
        note: Box<dyn Fn(Option<Duration>) + Send + Sync>,
    ) -> Self {
        Self {
            pieces,
            note,
            exchange: Exchange::Open(exchange),
            notes_first_token: false,
        }
    }
}

fn piece(piece: Piece) -> abi::Piece {
    match piece {
        Piece::Lines(lines) => abi::Piece::Lines(lines),
        Piece::Again => abi::Piece::Again,
    }
}

#[async_trait]
impl PiecesOfResponse for Streamed {
    async fn next(&mut self) -> Result<Option<abi::Piece>, abi::Error> {
        if let Exchange::Open(exchange) = &mut self.exchange {
            let ended = tokio::select! {
                biased;
                next = self.pieces.next() => return Ok(Some(piece(next))),
                ended = exchange => ended,
            };
            self.exchange = Exchange::Ended(ended);
        }
        match &self.exchange {
            Exchange::Ended(Err(error)) => Err(error.clone()),
            _ => Ok(self.pieces.take().map(piece)),
        }
    }

    fn first_token(&mut self) {
        self.pieces.note_first_token();
        self.notes_first_token = true;
        (self.note)(self.pieces.first_token());
    }

    async fn finish(self: Box<Self>) -> Ended {
        let ended = match self.exchange {
            Exchange::Open(exchange) => exchange.await,
            Exchange::Ended(ended) => ended,
        };
        // Another attempt may have been made since the note.
        if self.notes_first_token {
            (self.note)(self.pieces.first_token());
        }
        ended
    }
}
