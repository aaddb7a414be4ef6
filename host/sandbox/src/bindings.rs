//! Generated from `wit/v0_1`: the records, and one trait for each interface that guests import.
//!
//! Nothing is written by hand here, and everything else may stand on it: the records are those of
//! the host ([`crate::abi`]) as long as there is one track. The world in the macro names every
//! interface of the track, so that each type exists once, whichever world a plugin was built for.
//!
//! It stands below `v0_1`, whose types these are: a call keeps a log and records of the boundary, and
//! `v0_1` serves calls.

#![expect(missing_docs, reason = "generated; the WIT file is the documentation")]

wasmtime::component::bindgen!({
    path: "../../wit/v0_1",
    inline: "
        package runner:host;
        world every-interface {
            import runner:plugin/log@0.1.2;
            import runner:plugin/http@0.1.2;
            import runner:plugin/http-stream@0.1.2;
            import runner:plugin/llm@0.1.2;
            export runner:plugin/meta@0.1.2;
            export runner:plugin/provider@0.1.2;
            export runner:plugin/provider-embed@0.1.2;
            export runner:plugin/assertion@0.1.2;
            export runner:plugin/assertion-batch@0.1.2;
            export runner:plugin/script@0.1.2;
        }
    ",
    world: "runner:host/every-interface",
    imports: {
        "runner:plugin/http.send": async,
        "runner:plugin/http.send-all": async,
        "runner:plugin/http-stream.[method]exchange.next": async | trappable,
        "runner:plugin/http-stream.[static]exchange.finish": async | trappable,
        "runner:plugin/http-stream": trappable,
        "runner:plugin/llm.complete": async,
        "runner:plugin/llm.complete-all": async,
        "runner:plugin/llm.embed": async,
    },
    exports: { default: async },
    additional_derives: [PartialEq],
});
