//! Everything that was found once stays repaired, and two seconds of new inputs for each target.
//!
//! One test, since what lives in memory is counted for the whole process. The seed is another
//! each time; a failure names the file of the input, which stays.

use std::path::Path;
use std::time::Duration;

use runner_fuzz::{Fuzzing, TARGETS, kept};

#[test]
fn every_target_keeps_its_promises() {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    let seed = std::process::id().into();
    for target in TARGETS {
        assert!(
            !kept(target.name).is_empty(),
            "'{}' has no inputs to begin with",
            target.name
        );
        let mut fuzzing = Fuzzing::new(target, seed, &work);
        fuzzing.watch();
        let found = fuzzing.replay();
        let found = found.and_then(|()| fuzzing.run(Duration::from_secs(2)));
        if let Err(found) = found {
            panic!("{}: {}: {}", target.name, found.what, found.file.display());
        }
        println!(
            "{}: {} inputs, {} outcomes",
            target.name,
            fuzzing.tried(),
            fuzzing.outcomes()
        );
        assert!(
            fuzzing.tried() > kept(target.name).len() as u64,
            "'{}' tried nothing",
            target.name
        );
    }
}
