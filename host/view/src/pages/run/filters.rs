//! The form of conditions: it sends itself to the page's own address, so that a link says it all.

use std::sync::Arc;

use maud::{Markup, html};
use runner_store::{FigureRange, Outcome, RunInfo};
use runner_telling::figures;

use super::super::line;
use super::columns;
use crate::address::{Address, ORDERS};
use crate::site::{Column, LookedUp, Site};

/// Kinds of errors, and values of metadata, that are offered.
const KINDS: u32 = 30;

/// What a run has of what can be asked for.
pub(super) struct Offered {
    kinds: Vec<(String, u64)>,
    metrics: Vec<String>,
    metadata: Vec<String>,
}

impl Offered {
    /// Of a small run all of it; of a large one the kinds of errors where they are asked for, and the metrics once
    /// they are added up. What can't be read is not offered.
    pub(super) fn of(site: &Arc<Site>, run: &RunInfo, is_small: bool, address: &Address) -> Self {
        let looks = is_small || address.wanted.error.is_some();
        let is_ready = looks && site.look_up(run) == Ok(LookedUp::Ready);
        let kinds = is_ready.then(|| site.store.errors(&run.id, KINDS).unwrap_or_default());
        let metrics = if is_small && is_ready {
            columns::named(site, run).ok()
        } else {
            site.known_metrics(run)
        };
        let metrics = metrics.iter().flat_map(|it| it.sums.keys().cloned());
        let metadata = if is_small && is_ready {
            site.store.metadata(&run.id, KINDS).unwrap_or_default()
        } else {
            Vec::new()
        };
        let pairs = metadata
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        // What would be shown otherwise than it is can't be chosen.
        let is_plain = |text: &String| line(text) == *text;
        Self {
            kinds: kinds.unwrap_or_default(),
            metadata: pairs.filter(is_plain).collect(),
            metrics: metrics.filter(is_plain).collect(),
        }
    }
}

/// The form.
pub(super) fn form(at: &str, address: &Address, columns: &[Column], offered: &Offered) -> Markup {
    let wanted = &address.wanted;
    let (metric, metric_bounds) = wanted.metric.clone().unwrap_or_default();
    let metadata = wanted.metadata.as_ref();
    let metadata = metadata.map(|(name, value)| format!("{name}={value}"));
    let names = columns::short_names(columns);
    let numbered = names.iter().zip(0_u32..);
    html! {
        form.filters #find action={ (at) "#find" } role="search" {
            label.wide { span { "Search" } input #search type="search" name="q" value=(wanted.text.as_deref().unwrap_or_default()) placeholder="words or their beginnings (press /)"; }
            fieldset {
                legend { "Verdict" }
                @for outcome in Outcome::ALL {
                    label { input type="checkbox" name="verdict" value=(outcome.as_str()) checked[wanted.outcomes.contains(&outcome)]; " " (outcome.word()) }
                }
            }
            @for (column, pixels) in &address.widths { input type="hidden" name="width" value={ (column) ":" (pixels) }; }
            label { span { "Sort" } select name="sort" {
                @for (value, label, order) in ORDERS { option value=(value) selected[order == address.order] { (label) } }
            } }
            details open[has_more(address)] {
                summary { "More conditions" }
                div.grid {
                    label { span { "Column" } select name="column" {
                        option value="" { "any" }
                        @for (name, idx) in numbered.clone() {
                            option value=(idx) selected[wanted.column == Some(idx)] { (name) }
                        }
                    } }
                    fieldset {
                        legend { "Columns differ" }
                        label { input type="checkbox" name="differ" value="verdicts" checked[wanted.verdicts_differ]; " in verdict" }
                        label { input type="checkbox" name="differ" value="answers" checked[wanted.answers_differ]; " in answer" }
                    }
                    fieldset {
                        legend { "Only" }
                        label { input type="checkbox" name="only" value="rated" checked[wanted.annotated]; " graded by people" }
                        label { input type="checkbox" name="only" value="flaky" checked[wanted.flaky]; " flaky repeats" }
                    }
                    label { span { "Kind of error" } input name="error" list="kinds" value=(wanted.error.as_deref().unwrap_or_default()); }
                    datalist #kinds { @for (kind, count) in &offered.kinds { option value=(kind) { (figures::count(*count)) } } }
                    (between("Score", "score", wanted.score))
                    (between("Latency, ms", "latency", wanted.latency_ms))
                    (between("Cost, $", "cost", wanted.cost_usd))
                    label { span { "Metric" } input name="metric" list="metrics" value=(metric); }
                    datalist #metrics { @for name in &offered.metrics { option value=(name) {} } }
                    (between("its score", "metric", metric_bounds))
                    label { span { "Metadata" } input name="metadata" list="metadata" placeholder="key=value" value=(metadata.unwrap_or_default()); }
                    datalist #metadata { @for pair in &offered.metadata { option value=(pair) {} } }
                    fieldset.hide {
                        legend { "Hide columns" }
                        @for (name, idx) in numbered {
                            label { input type="checkbox" name="hide" value=(idx) checked[address.hidden.contains(&idx)]; " " (name) }
                        }
                    }
                }
            }
            p.actions { button.main { "Show" } @if address.is_filtered() || address != &Address::default() { a href=(at) { "All tests" } } }
        }
    }
}

fn between(label: &str, name: &str, bounds: FigureRange) -> Markup {
    let text = |bound: Option<f64>| bound.map(|it| it.to_string()).unwrap_or_default();
    html! {
        fieldset.between {
            legend { (label) }
            label { span.sr { "from" } input inputmode="decimal" name={ (name) "-from" } placeholder="from" value=(text(bounds.least)); }
            label { span.sr { "to" } input inputmode="decimal" name={ (name) "-to" } placeholder="to" value=(text(bounds.most)); }
        }
    }
}

/// Whether a condition is set that is not seen otherwise.
fn has_more(address: &Address) -> bool {
    let mut seen = address.clone();
    seen.wanted.text = None;
    seen.wanted.outcomes.clear();
    seen.is_filtered() || !seen.hidden.is_empty()
}
