//! The generated bindings of `wit/v0_1`: the only file in which the ABI is visible.
//!
//! Small worlds instead of the contract's ready-made ones, because a component exports
//! exactly the worlds whose macro its crate expands: a provider expands `meta` and
//! `provider`, a grader `meta` and `assertion`, one that is both all three, one that runs code
//! `meta` and `script`. The worlds share the types of `hands`. Imports that nothing calls vanish when the component is linked, so a
//! grader without `log`, `http` and `llm` imports no function at all.
//!
//! The WIT is a copy inside this crate (`wit/v0_1`), since a crate that is published alone
//! has to carry its contract; a test compares it with the original.
//!
//! Nothing here is for plugin writers; the rest of the crate names the types anew.

#![expect(
    clippy::same_length_and_capacity,
    reason = "generated: a list that crosses the boundary has no spare capacity"
)]

/// What the host offers: logging, HTTP, other models; and the records of all interfaces.
pub mod hands {
    wit_bindgen::generate!({
        path: "wit/v0_1",
        inline: "
            package runner:sdk;
            world hands {
                import runner:plugin/types@0.1.2;
                import runner:plugin/log@0.1.2;
                import runner:plugin/http@0.1.2;
                import runner:plugin/http-stream@0.1.2;
                import runner:plugin/llm@0.1.2;
            }
        ",
        world: "runner:sdk/hands",
        additional_derives: [PartialEq],
        generate_all,
    });
}

/// The exported interface `meta`.
pub mod meta {
    wit_bindgen::generate!({
        path: "wit/v0_1",
        inline: "
            package runner:sdk;
            world meta {
                export runner:plugin/meta@0.1.2;
            }
        ",
        world: "runner:sdk/meta",
        with: { "runner:plugin/types@0.1.2": crate::wire::hands::runner::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export",
    });

    /// Compiles for a type that implements the interface.
    pub const fn fits<T: exports::runner::plugin::meta::Guest>() {}
}

/// The exported interface `provider`.
pub mod provider {
    wit_bindgen::generate!({
        path: "wit/v0_1",
        inline: "
            package runner:sdk;
            world provider {
                export runner:plugin/provider@0.1.2;
            }
        ",
        world: "runner:sdk/provider",
        with: { "runner:plugin/types@0.1.2": crate::wire::hands::runner::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export",
    });

    /// Compiles for a type that implements the interface.
    pub const fn fits<T: exports::runner::plugin::provider::Guest>() {}
}

/// The exported interface `assertion`.
pub mod assertion {
    wit_bindgen::generate!({
        path: "wit/v0_1",
        inline: "
            package runner:sdk;
            world assertion {
                export runner:plugin/assertion@0.1.2;
            }
        ",
        world: "runner:sdk/assertion",
        with: { "runner:plugin/types@0.1.2": crate::wire::hands::runner::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export",
    });

    /// Compiles for a type that implements the interface.
    pub const fn fits<T: exports::runner::plugin::assertion::Guest>() {}
}

/// The exported interface `script`.
pub mod script {
    wit_bindgen::generate!({
        path: "wit/v0_1",
        inline: "
            package runner:sdk;
            world script {
                export runner:plugin/script@0.1.2;
            }
        ",
        world: "runner:sdk/script",
        with: {
            "runner:plugin/types@0.1.2": crate::wire::hands::runner::plugin::types,
            "runner:plugin/log@0.1.2": crate::wire::hands::runner::plugin::log,
        },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export",
    });

    /// Compiles for a type that implements the interface.
    pub const fn fits<T: exports::runner::plugin::script::Guest>() {}
}
