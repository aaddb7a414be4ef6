//! When two configs name the same provider.
//!
//! It is the same if all that it is asked with is, wherever it stands and whoever wrote it; one that
//! takes variables of the environment, if it is written the same in one file.

use super::Listed;
use crate::model::Position;
use crate::plan::Provider;
use crate::several::{self, ContentDigest, Repeated};

impl Repeated for Listed {
    fn digest(&self) -> ContentDigest {
        let Provider {
            id,
            label,
            prefix: _,
            program,
            name: _,
            config,
            delay,
            max_retries,
            min_concurrency,
            max_concurrency,
            pool,
            limits,
            budget,
            env,
            transform,
            code,
            plugin: _,
            origin: _,
            env_reads: _,
            at: _,
            places: _,
        } = &*self.provider;
        let [config, env] = [config, env].map(several::in_order);
        let asked = (delay, max_retries, min_concurrency, max_concurrency);
        let counted = (pool, limits, budget);
        let prompts = self.prompts.as_ref();
        let prompts: Option<Vec<&str>> =
            prompts.map(|names| names.iter().map(|(name, _)| name.as_str()).collect());
        // What variables hold decides nothing.
        let [config, env] = [config, env].map(|map| self.written.is_none().then_some(map));
        let (id, written) = (self.written.is_none().then_some(id), &self.written);
        ContentDigest::of(&(
            id, written, label, config, env, asked, counted, transform, code, program, prompts,
        ))
    }

    fn name(&self) -> String {
        format!("the provider '{}'", self.provider.names()[0])
    }

    fn at(&self) -> &Position {
        &self.provider.at
    }
}
