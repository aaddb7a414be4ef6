//! What is given to whom, whatever ended first.

use runner_config::plan::CaseResource;

use super::*;
use crate::record::samples::record;

fn id(test_idx: u32) -> CaseId {
    CaseId {
        test_idx,
        prompt_idx: 0,
    }
}

fn register(alone: bool) -> Needs {
    Needs {
        alone,
        reads: Vec::new(),
        writes: vec![CaseResource::Register("r".into())],
    }
}

fn said(output: Value) -> CaseRecord {
    let mut record = record(0);
    record.response.as_mut().expect("a response").output = output;
    record
}

fn leave(carried: &mut CarriedValues, id: CaseId, needs: &Needs, record: &CaseRecord) {
    if let Some(left) = CarriedOutputs::of(needs, record) {
        carried.keep(id, left);
    }
}

#[test]
fn a_register_holds_what_the_last_earlier_case_left_whatever_ended_first() {
    let mut carried = CarriedValues::default();
    let strand = CaseResource::Register("r".into());
    for (test, output) in [(3, "three"), (1, "one"), (5, "five")] {
        leave(
            &mut carried,
            id(test),
            &register(false),
            &said(output.into()),
        );
    }
    leave(
        &mut carried,
        id(9),
        &register(true),
        &said("first of all".into()),
    );
    let left = |test| carried.before(&strand, (true, id(test)));
    let given = |output: &str| {
        let value = Shared::Register(Arc::new(output.into()));
        Some(("r".to_owned(), value))
    };
    assert_eq!(left(4), given("three"));
    assert_eq!(left(3), given("one"));
    assert_eq!(left(6), given("five"));
    assert_eq!(left(0), given("first of all"));
}

#[test]
fn an_empty_output_and_an_error_leave_a_register_as_it_is() {
    let mut carried = CarriedValues::default();
    let strand = CaseResource::Register("r".into());
    leave(&mut carried, id(0), &register(false), &said("kept".into()));
    for (test, output) in [
        (1, json!("")),
        (2, json!(null)),
        (3, json!(0)),
        (4, json!(false)),
    ] {
        leave(&mut carried, id(test), &register(false), &said(output));
    }
    let mut failed = record(5);
    failed.response = None;
    leave(&mut carried, id(5), &register(false), &failed);
    let left = carried.before(&strand, (true, id(6)));
    let kept = Shared::Register(Arc::new("kept".into()));
    assert_eq!(left, Some(("r".to_owned(), kept)));
}

#[test]
fn who_reads_what_could_not_be_kept_is_told_so_until_another_writes_it() {
    let mut carried = CarriedValues::default();
    let register = register(false);
    let reads = Needs {
        reads: register.writes.clone(),
        writes: Vec::new(),
        ..register.clone()
    };
    let left = |text: &str| CarriedOutputs::of(&register, &said(text.into())).expect("an output");
    carried.keep(id(1), left("large").lost());
    carried.keep(id(3), left("small"));
    let given = |test| carried.give(id(test), Some(&reads));
    assert!(given(0).is_empty());
    assert!(given(2).is_lost());
    assert!(!given(4).is_lost());
    assert_eq!(given(4).to_vars()["r"], "small");
}

#[test]
fn a_turn_holds_prompt_input_output_and_metadata() {
    let strand = CaseResource::Conversation {
        column: 0,
        id: None,
        of_data: None,
        repeat: 0,
    };
    let needs = Needs {
        alone: false,
        reads: vec![strand.clone()],
        writes: vec![strand.clone()],
    };
    let mut carried = CarriedValues::default();
    assert_eq!(
        carried.before(&strand, (true, id(0))),
        Some((CONVERSATION.to_owned(), Shared::Turns(Vec::new()))),
        "the first turn sees an empty conversation"
    );
    let mut chat = said("fine".into());
    chat.prompt.raw =
        json!([{ "role": "system", "content": "be" }, { "role": "user", "content": "how?" }])
            .to_string();
    leave(&mut carried, id(1), &needs, &chat);
    leave(&mut carried, id(0), &needs, &said("hello".into()));
    let vars = carried.give(id(2), Some(&needs)).to_vars();
    let turns = &vars[CONVERSATION];
    assert_eq!(turns[0]["input"], "hello");
    assert_eq!(turns[0]["prompt"], "hello");
    assert_eq!(turns[1]["input"], "how?");
    assert_eq!(turns[1]["prompt"][0]["role"], "system");
    assert_eq!(turns[1]["output"], "fine");
    assert_eq!(turns[1]["metadata"], json!({}));
}

#[test]
fn what_was_left_and_what_is_given_is_told_to_who_counts_the_memory() {
    let strand = CaseResource::Conversation {
        column: 0,
        id: None,
        of_data: None,
        repeat: 0,
    };
    let needs = Needs {
        alone: false,
        reads: vec![strand.clone(), CaseResource::Register("r".into())],
        writes: vec![strand, CaseResource::Register("r".into())],
    };
    let mut carried = CarriedValues::default();
    assert_eq!(CarriedInputs::default().values().count(), 0);
    assert!(CarriedInputs::default().is_empty());
    let left = CarriedOutputs::of(&needs, &said("first".into())).expect("an output");
    let values: Vec<Value> = left.values().cloned().collect();
    assert_eq!(
        (&values[0]["output"], &values[1..]),
        (&json!("first"), &[json!("first")][..])
    );
    carried.keep(id(0), left);
    let given = carried.give(id(1), Some(&needs));
    assert!(!given.is_empty());
    assert!(given.values().eq(&values));
    let left = CarriedOutputs::of(&needs, &said("second".into())).expect("an output");
    let lost = left.lost();
    assert_eq!(lost.values().count(), 0);
    carried.keep(id(1), lost);
    assert_eq!(carried.give(id(2), Some(&needs)).values().count(), 0);
}
