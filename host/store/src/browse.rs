//! What a viewer asks of a run: a page of tests that satisfy some conditions, in some order, and
//! what else there is to find its cases by.
//!
//! A run may have a million rows, so nothing here reads more of it than one pass over the small
//! table. [`CaseFilter`] and [`Order`] become one question with a key to go on from; [`Figures`] is
//! that pass, for whoever adds up; [`Lookup`] is a file beside the database with what only the
//! records say (words, metrics, kinds of errors), made when it is first asked for.

mod contents;
mod figures;
mod lookup;
mod pages;
mod question;

pub use contents::Content;
pub use figures::{Figure, Figures};
pub use lookup::{Facts, Lookup, MetricSum, Metrics};
pub use pages::TestPage;
pub use question::{CaseFilter, FigureRange, Order, PageStart, Ranked};

#[cfg(test)]
mod tests;
