//! The generated bindings of `provider` and `provider-embed` together. Nothing here is for
//! plugin writers.

#![expect(
    clippy::same_length_and_capacity,
    reason = "generated: a list that crosses the boundary has no spare capacity"
)]

wit_bindgen::generate!({
    path: "wit/v0_1",
    inline: "
        package runner:sdk;
        world embedding {
            export runner:plugin/provider@0.1.2;
            export runner:plugin/provider-embed@0.1.2;
        }
    ",
    world: "runner:sdk/embedding",
    with: { "runner:plugin/types@0.1.2": runner_plugin::wire::hands::runner::plugin::types },
    additional_derives: [PartialEq],
    pub_export_macro: true,
    export_macro_name: "export",
});

/// Compiles for a type that implements both interfaces.
pub const fn fits<
    T: exports::runner::plugin::provider::Guest + exports::runner::plugin::provider_embed::Guest,
>() {
}
