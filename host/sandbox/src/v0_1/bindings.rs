//! Generated from `wit/v0_1`: the records, and one trait for each interface that guests import.
//!
//! Nothing is written by hand here and nothing above `v0_1` names this module. The world in
//! the macro names every interface of the track, so that each type exists once, whichever
//! world a plugin was built for.

#![expect(missing_docs, reason = "generated; the WIT file is the documentation")]

wasmtime::component::bindgen!({
    path: "../../wit/v0_1",
    inline: "
        package runner:host;
        world every-interface {
            import runner:plugin/log@0.1.1;
            import runner:plugin/http@0.1.1;
            import runner:plugin/llm@0.1.1;
            export runner:plugin/meta@0.1.1;
            export runner:plugin/provider@0.1.1;
            export runner:plugin/provider-embed@0.1.1;
            export runner:plugin/assertion@0.1.1;
            export runner:plugin/assertion-batch@0.1.1;
            export runner:plugin/script@0.1.1;
        }
    ",
    world: "runner:host/every-interface",
    imports: {
        "runner:plugin/http.send": async,
        "runner:plugin/http.send-all": async,
        "runner:plugin/llm.complete": async,
        "runner:plugin/llm.complete-all": async,
        "runner:plugin/llm.embed": async,
    },
    exports: { default: async },
    additional_derives: [PartialEq],
});
