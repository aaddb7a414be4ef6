//! The shape of Anthropic's Messages API, which Anthropic and Google serve: `body` writes it,
//! `answer` reads it, `events` says what its
//! parts are when it is streamed.

pub mod answer;
pub mod body;
pub mod events;
mod messages;
