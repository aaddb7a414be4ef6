//! What a budget is, whose it is, and what is said about it.

use std::fmt;

use serde_json::{Value, json};

use super::price::nano;

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Attempts on the wire.
    Requests,
    /// Tokens, in and out together.
    Tokens,
    /// Billionths of a US dollar.
    Cost,
}

impl Measure {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Requests, Self::Tokens, Self::Cost];

    fn word(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }

    /// `10 of 20 requests`, `$0.50 of $1.00`.
    pub(super) fn of(self, spent: u64, limit: u64) -> String {
        let dollars = |nano: u64| {
            let text = format!("{:.6}", nano as f64 / 1e9);
            let keep = text.trim_end_matches('0').len().max(text.len() - 4);
            format!("${}", &text[..keep])
        };
        match self {
            Self::Requests => format!("{spent} of {limit} requests"),
            Self::Tokens => format!("{spent} of {limit} tokens"),
            Self::Cost => format!("{} of {}", dollars(spent), dollars(limit)),
        }
    }
}

/// What may be spent; `None`: no limit. At 0 only what costs nothing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Attempts on the wire.
    pub requests: Option<u64>,
    /// Tokens, in and out together.
    pub tokens: Option<u64>,
    /// Billionths of a US dollar: prices of single tokens are not lost in rounding.
    pub nano_usd: Option<u64>,
}

impl Budget {
    /// The limit of this measure.
    pub(super) fn limit(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Requests => self.requests,
            Measure::Tokens => self.tokens,
            Measure::Cost => self.nano_usd,
        }
    }
}

/// A budget that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BudgetId(pub(super) usize);

/// Whose budget it is; decides what helps when it is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The whole run.
    Run,
    /// A provider, by label or id.
    Provider(String),
    /// A plugin, by alias.
    Plugin(String),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("the run"),
            Self::Provider(name) => write!(f, "provider '{name}'"),
            Self::Plugin(alias) => write!(f, "plugin '{alias}'"),
        }
    }
}

/// Why something was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Exceeded {
    /// A limit is reached.
    #[error("not run: the budget of {owner} is spent ({}); to run it: {}", .measure.of(*.spent, *.limit), larger(.owner, *.measure))]
    Spent {
        /// Whose.
        owner: Owner,
        /// Which limit.
        measure: Measure,
        /// How much there was.
        limit: u64,
        /// How much of it is spent; more by what the last calls took.
        spent: u64,
    },
    /// Dollars are limited, and calls of this lane state no price.
    #[error(
        "not run: the budget of {owner} limits dollars, and nobody says what this provider's calls cost; write \
         `cost` (dollars for a token) into its config, or limit tokens or requests instead"
    )]
    Unpriced {
        /// Whose.
        owner: Owner,
    },
}

fn larger(owner: &Owner, measure: Measure) -> String {
    let (flag, key) = match measure {
        Measure::Requests => ("--max-requests", "requests"),
        Measure::Tokens => ("--max-tokens", "tokens"),
        Measure::Cost => ("--max-cost", "cost"),
    };
    match owner {
        Owner::Run => format!("runner eval --resume, with a larger {flag}"),
        _ => format!("raise `{key}` in its `budget`, then runner eval --resume"),
    }
}

/// What a call says that it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedCost {
    /// So many billionths of a dollar.
    Cost(u64),
    /// It was answered, and says nothing.
    Nothing,
    /// It failed.
    Failed,
}

impl StatedCost {
    /// What an answer says.
    pub fn by_answer(usd: Option<f64>) -> Self {
        let usd = usd.filter(|usd| usd.is_finite() && *usd >= 0.0);
        usd.map_or(Self::Nothing, |usd| Self::Cost(nano(usd)))
    }
}

/// What is spent of one limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// `the run`, `provider 'x'`, `plugin 'x'`.
    pub owner: String,
    /// What it counts.
    pub measure: Measure,
    /// How much there was.
    pub limit: u64,
    /// How much of it is spent.
    pub spent: u64,
}

impl Statement {
    /// `the run: 10 of 20 requests`.
    pub fn line(&self) -> String {
        format!(
            "{}: {}",
            self.owner,
            self.measure.of(self.spent, self.limit)
        )
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    /// As the results have it; cost in dollars.
    pub fn to_json(&self) -> Value {
        let amount = |n: u64| match self.measure {
            Measure::Cost => json!(n as f64 / 1e9),
            Measure::Requests | Measure::Tokens => n.into(),
        };
        json!({
            "of": self.owner,
            "measure": self.measure.word(),
            "limit": amount(self.limit),
            "spent": amount(self.spent),
        })
    }

    /// Reads [`Self::to_json`].
    pub fn from_json(json: &Value) -> Option<Self> {
        let word = json["measure"].as_str()?;
        let measure = Measure::ALL
            .into_iter()
            .find(|measure| measure.word() == word)?;
        let amount = |name: &str| match measure {
            Measure::Cost => Some((json[name].as_f64()? * 1e9).round() as u64),
            Measure::Requests | Measure::Tokens => json[name].as_u64(),
        };
        Some(Self {
            owner: json["of"].as_str()?.to_owned(),
            measure,
            limit: amount("limit")?,
            spent: amount("spent")?,
        })
    }
}
