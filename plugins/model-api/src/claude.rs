//! The shape of Anthropic's Messages API, which Anthropic and Google serve: `body` writes it,
//! `answer` reads it.

pub mod answer;
pub mod body;
mod messages;
