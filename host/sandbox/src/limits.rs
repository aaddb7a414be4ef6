//! The table of limits: everything a guest could exhaust, and where it ends.
//!
//! Each is a named constant with its reason. What a guest does to hit it is in
//! `tests/guests/hostile`, but for references and the text of patterns, which the tests of
//! `describe` hit. Values that a user may change travel in [`CallLimits`]; the
//! rest are fixed, because a config that needs another value has a problem that a larger
//! number would only hide.

use std::time::Duration;

/// Largest file that is read as a plugin. A CPython guest is 18 MiB; nothing useful is larger
/// than three of those, and reading is the one thing done before anything is known.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Longest compilation that a run waits for. A CPython guest takes 12 s of CPU, and a machine that
/// is busy with other things may need ten times that; past this the file is not a plugin but a
/// workload.
pub(crate) const COMPILE_TIMEOUT: Duration = Duration::from_mins(2);

/// Linear memory per instance by default, summed over its memories. CPython lives in 6 MiB,
/// so this is room for data, not for engines.
pub const DEFAULT_MEMORY_BYTES: u64 = 128 << 20;

/// Linear memory of an instance that the host is not asked for. Toolchains begin with one to two
/// MiB, most of which an ordinary call never touches.
pub(crate) const UNASKED_MEMORY_BYTES: u64 = 2 << 20;

/// Most that a grant can raise [`DEFAULT_MEMORY_BYTES`] to. The pool reserves address space
/// for this much in each slot.
pub(crate) const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// Table elements per table. CPython has about 12,000 functions in its table; a table costs
/// 8 bytes an element once touched.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Places of the pool that one instance of a plugin may take. Each has room for one memory, for
/// [`CORE_INSTANCES_PER_PLACE`] and [`TABLES_PER_PLACE`]; the smallest pool has this many, so that
/// every plugin that loads finds room, and none takes what others count on.
pub(crate) const MAX_PLACES: u32 = 4;

/// Core instances that one place in the pool has room for: main module, the adapters of a
/// toolchain, and shims.
pub(crate) const CORE_INSTANCES_PER_PLACE: u32 = 16;

/// Tables that one place in the pool has room for.
pub(crate) const TABLES_PER_PLACE: u32 = 4;

/// Core instances of one plugin: CPython has 38, one for each of its libraries.
pub(crate) const MAX_CORE_INSTANCES: u32 = MAX_PLACES * CORE_INSTANCES_PER_PLACE;

/// Functions of one plugin. Compiling takes some 4 KiB for each, however short it is, and CPython has
/// 13,500.
pub(crate) const MAX_FUNCTIONS: u32 = 100_000;

/// Memories of one plugin. Toolchains make one.
pub(crate) const MAX_MEMORIES: u32 = MAX_PLACES;

/// Tables of one plugin. Toolchains make two or three.
pub(crate) const MAX_TABLES: u32 = MAX_PLACES * TABLES_PER_PLACE;

/// Components that are instantiated inside one plugin: toolchains make one for each interface.
/// Compiling copies each in place.
pub(crate) const MAX_COMPONENT_INSTANCES: u32 = 256;

/// Stack that WebAssembly may use. JavaScript engines check their own depth against 512 KiB
/// to 1 MiB and throw; with less than this below them they would trap instead.
pub(crate) const WASM_STACK_BYTES: usize = 2 << 20;

/// Stack left to host functions on the same fibre, above [`WASM_STACK_BYTES`]. Address space
/// only; touched pages count.
pub(crate) const HOST_STACK_BYTES: usize = 2 << 20;

/// Bytes that cross from guest to host in one call or one return. A grade is a kilobyte; 16
/// MiB is a large image in base64.
pub const MAX_CROSSING_BYTES: usize = 16 << 20;

/// Largest HTTP response body handed to a guest. Twice a crossing, since answers with embedded
/// media are larger than questions, and a guest must still fit it into its memory.
pub(crate) const MAX_RESPONSE_BYTES: usize = 32 << 20;

/// CPU budget of an assertion in fuel, about one unit an instruction: 1 to 3 s of real time.
/// Fuel is the same on every machine, so a grade does not depend on how busy this one is.
pub const ASSERTION_FUEL: u64 = 3_000_000_000;

/// Guest time of an assertion, the back-stop behind fuel: a memory copy or a page fault costs
/// time but little fuel.
pub const ASSERTION_GUEST_TIME: Duration = Duration::from_secs(10);

/// Guest time of a provider. It assembles a request and reads an answer; what it waits for
/// is the host's time and does not count.
pub const PROVIDER_GUEST_TIME: Duration = Duration::from_secs(2);

/// Fuel of `describe` and `check-config`: about 100 ms. In fuel rather than in time, so that
/// a plugin does not fail to load because the machine is busy.
pub(crate) const DESCRIBE_FUEL: u64 = 300_000_000;

/// Memory that `describe` may add to what the component starts with.
pub(crate) const DESCRIBE_MEMORY_BYTES: u64 = 16 << 20;

/// Wall time of `describe`, for a guest that sleeps instead of working.
pub(crate) const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Text of one JSON Schema. The largest of ours has 10 KiB; a schema that was made from types by a
/// tool may have several times that.
pub(crate) const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// Text of all schemas of a plugin: each of its assertion types may bring one of its own, and a plugin
/// of fifty with schemas like ours fits. Once compiled they are held as long as the program runs.
pub(crate) const MAX_SCHEMAS_BYTES: usize = 512 << 10;

/// JSON values in a schema. Each becomes about a kilobyte of compiled checks.
pub(crate) const MAX_SCHEMA_VALUES: usize = 8_192;

/// References in a schema. One made from types by a tool has one for each field of a type of its own;
/// each is a path that is looked up at every step through it, and they multiply where they meet.
pub(crate) const MAX_SCHEMA_REFS: usize = 512;

/// Patterns in a schema. Names and formats take a few; half of what all schemas of a plugin may have
/// ([`MAX_SCHEMAS_PATTERNS`]), so that two that use all of it still load.
pub(crate) const MAX_SCHEMA_PATTERNS: usize = 64;

/// Patterns in all schemas of a plugin. Each may compile to some 180 KiB.
pub(crate) const MAX_SCHEMAS_PATTERNS: usize = 128;

/// Text of one pattern in a schema. The longest that people write, for addresses and dates, have some
/// hundred bytes; to parse one takes memory in proportion, before any limit of the compiled program.
pub(crate) const MAX_PATTERN_BYTES: usize = 1_024;

/// What one pattern may compile to, and what it may remember while it runs. A few bytes such as
/// `\w{2000}` become megabytes otherwise, and each of [`MAX_SCHEMAS_PATTERNS`] may take this twice: 64
/// MiB for a plugin.
pub(crate) const MAX_PATTERN_PROGRAM_BYTES: usize = 256 << 10;

/// Steps of holding one value against one schema: a list of 100,000 texts fits, and no value takes
/// more than about a second.
pub(crate) const MAX_SCHEMA_STEPS: u64 = 1_000_000;

/// HTTP requests in one call. Polling an asynchronous API every second for a minute fits.
pub const MAX_HTTP_CALLS: u32 = 64;

/// Model calls in one call: a panel of eight judges with four votes each.
pub const MAX_LLM_CALLS: u32 = 32;

/// Longest log line; the rest of the line is cut.
pub const MAX_LOG_LINE_BYTES: usize = 8 << 10;

/// Log lines of one call. What comes after is counted and said in one last line. Whoever looks
/// for what went wrong in one call reads no more, and the lines of the others stay to be seen.
pub const MAX_LOG_LINES: u32 = 256;

/// Log bytes of one call: a kilobyte for each of [`MAX_LOG_LINES`]. They wait in
/// memory until the run's loop hands them on, and hundreds of calls may write them at once.
pub const MAX_LOG_BYTES: usize = 256 << 10;

/// Fields of a log line; more are counted and left out.
pub const MAX_LOG_FIELDS: usize = 32;

/// Lines of standard error or error log that the message about a crash begins with: an engine that
/// lists the calls after the error says there what happened.
pub(crate) const FIRST_LINES: usize = 2;

/// Lines of the same that the message about a crash ends with: an engine that lists the calls before
/// the error says there what happened.
pub(crate) const LAST_LINES: usize = 3;

/// Tests in a row on which a plugin crashes before it is not called for such tests again in this run. One or two
/// are the input's doing; ten without a success between are the plugin's, and each may have used up its time
/// and memory first.
pub const MAX_CRASHES_IN_A_ROW: u32 = 10;

/// Most instances alive at once, all plugins together. Each costs six memory mappings of the
/// 65,530 that Linux gives a process by default (`vm.max_map_count`), and the program needs
/// some for itself.
pub(crate) const MAX_INSTANCES: u32 = 4_000;

/// Open handles of one instance: streams and pollables of virtual WASI, as many as systems give a
/// process by default. Each is memory of the host, which the guest's own limit doesn't count.
pub(crate) const MAX_HANDLES: usize = 1_024;

/// Headers of one message of `wasi:http`. Those of real requests have one or two KiB; a guest may hold
/// [`MAX_HANDLES`] of them.
pub(crate) const MAX_FIELDS_BYTES: usize = 16 << 10;

/// The method or the authority of a request of `wasi:http`, of which a guest may hold [`MAX_HANDLES`].
/// A host name has at most 253 bytes.
pub(crate) const MAX_NAME_BYTES: usize = 1 << 10;

/// Bytes of a body of `wasi:http` that are written at once, and wait until its request is sent; a guest
/// may hold [`MAX_HANDLES`] that never are.
pub(crate) const MAX_WRITE_BYTES: usize = 16 << 10;

/// Random bytes in one request of virtual WASI. `getentropy` asks for 256.
pub(crate) const MAX_RANDOM_BYTES: u64 = 1 << 20;

/// Bytes of a guest's answer that a message quotes.
pub(crate) const EXCERPT_BYTES: usize = 80;

/// How often the epoch advances. A spinning guest gives its thread back this often, and a
/// dropped one is gone within it; 200 wake-ups a second cost nothing that shows.
pub(crate) const EPOCH_TICK: Duration = Duration::from_millis(5);

/// What one call may use. The user's `limits:` of a plugin override the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Linear memory in bytes, at most `MAX_MEMORY_BYTES`.
    pub memory: u64,
    /// Fuel, about one unit an instruction; `None`: not limited.
    pub fuel: Option<u64>,
    /// Time spent in guest code; time in host calls does not count.
    pub guest_time: Duration,
    /// HTTP requests.
    pub http_calls: u32,
    /// Calls and embeddings of models.
    pub llm_calls: u32,
}

impl CallLimits {
    /// The defaults of a provider.
    pub const fn provider() -> Self {
        Self {
            memory: DEFAULT_MEMORY_BYTES,
            fuel: None,
            guest_time: PROVIDER_GUEST_TIME,
            http_calls: MAX_HTTP_CALLS,
            llm_calls: MAX_LLM_CALLS,
        }
    }

    /// The defaults of an assertion.
    pub const fn assertion() -> Self {
        Self {
            fuel: Some(ASSERTION_FUEL),
            guest_time: ASSERTION_GUEST_TIME,
            ..Self::provider()
        }
    }

    /// The defaults of code in a config: those of an assertion, since a grade may follow from
    /// it. An instance of the JavaScript plugin starts with 1.4 MiB.
    pub const fn script() -> Self {
        Self::assertion()
    }

    /// The limits of `describe` and `check-config` for a component that starts with
    /// `start_memory` bytes.
    pub(crate) const fn describe(start_memory: u64) -> Self {
        Self {
            memory: start_memory + DESCRIBE_MEMORY_BYTES,
            fuel: Some(DESCRIBE_FUEL),
            guest_time: ASSERTION_GUEST_TIME,
            http_calls: 0,
            llm_calls: 0,
        }
    }
}
