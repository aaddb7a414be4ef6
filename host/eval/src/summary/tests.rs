//! What is added up of cases, and what of parts.

use super::*;

#[test]
fn latency_quantiles_are_within_two_digits() {
    let mut tally = Tally::default();
    for ms in 1..=1000 {
        tally.latencies.saturating_record(ms);
    }
    let p50 = tally.latency_ms(0.5).expect("recorded");
    let p95 = tally.latency_ms(0.95).expect("recorded");
    assert!((495..=505).contains(&p50), "{p50}");
    assert!((940..=960).contains(&p95), "{p95}");
}

#[test]
fn a_sum_does_not_depend_on_the_order() {
    let numbers = [1.0 / 3.0, 0.1, 1e-9, 2.0 / 3.0, 12345.678, 0.2];
    let sum = |numbers: &mut dyn Iterator<Item = &f64>| {
        let mut sum = FixedSum::default();
        numbers.for_each(|number| sum.add(*number));
        sum.value()
    };
    let forth = sum(&mut numbers.iter());
    let back = sum(&mut numbers.iter().rev());
    assert_eq!(forth.to_bits(), back.to_bits());
    let mut thirds = FixedSum::default();
    (0..3).for_each(|_| thirds.add(1.0 / 3.0));
    assert_eq!(thirds.value().to_bits(), 1.0_f64.to_bits());
    thirds.add(f64::NAN);
    assert_eq!(thirds.value().to_bits(), 1.0_f64.to_bits());
}

#[test]
fn a_metric_that_the_config_declares_has_room_whatever_rows_name() {
    let mut record = crate::record::samples::record(0);
    let mut metrics = Metrics::declaring(["own"]);
    let mut column = Tally::default();
    let names = (0..MOST_METRICS).map(|at| (at.to_string(), 0.5.into()));
    record.named_scores = names.collect();
    metrics.add(&mut column, &record);
    record.named_scores =
        Map::from_iter([("own".to_owned(), 1.into()), ("x".to_owned(), 1.into())]);
    metrics.add(&mut column, &record);
    assert_eq!(column.metric("own"), Some(1.0));
    assert_eq!((column.metric("x"), metrics.unsummed), (None, 1));
}

#[test]
fn a_metric_is_the_mean_of_what_was_graded_and_a_file_has_promptfoo_s() {
    let mut record = crate::record::samples::record(0);
    let mut metrics = Metrics::default();
    let mut column = Tally::default();
    for (score, not_graded) in [(1.0, false), (0.0, true)] {
        record.named_scores = Map::from_iter([("tone".to_owned(), score.into())]);
        record.grading_result = serde_json::from_value(serde_json::json!({
            "pass": true, "score": score, "reason": "", "namedScores": {}, "namedScoreWeights": { "tone": 2 },
            "notGraded": if not_graded { vec!["tone"] } else { vec![] }, "tokensUsed": TokenUsage::default(), "componentResults": [],
        }))
        .expect("a grade");
        metrics.add(&mut column, &record);
    }
    assert_eq!(
        (column.metric("tone"), column.not_graded("tone")),
        (Some(1.0), 1)
    );
    assert_eq!(column.metric_range("tone"), Some([0.5, 1.0]));
    let told = column.metrics_json();
    assert_eq!(
        (
            &told["namedScores"]["tone"],
            &told["namedScoreWeights"]["tone"]
        ),
        (&2.0.into(), &4.0.into())
    );
}

#[test]
fn what_was_not_graded_may_be_the_worst_that_another_case_got() {
    let mut scores = MetricScores::default();
    for score in [-3.0, 5.0] {
        scores.sum.add(score);
        scores.weight.add(1.0);
        scores.reach = [scores.reach[0].min(score), scores.reach[1].max(score)];
    }
    scores.weight.add(2.0);
    scores.ungraded[1].add(2.0);
    scores.not_graded = 1;
    let mut column = Tally::default();
    column.named.insert("tone".to_owned(), scores);
    assert_eq!(column.metric_range("tone"), Some([-1.0, 3.0]));
    column.derived = vec![("tone".to_owned(), 0.5)];
    assert_eq!(column.metric_range("tone"), Some([0.5, 0.5]));
    assert_eq!(column.metric_range("other"), None);
}

#[test]
fn metrics_beyond_the_most_that_a_run_sums_are_counted() {
    let mut record = crate::record::samples::record(0);
    let mut named = |names: &mut dyn Iterator<Item = String>| {
        record.named_scores = names.map(|name| (name, 0.5.into())).collect();
        record.clone()
    };
    let (mut first, mut second) = (Tally::default(), Tally::default());
    let mut metrics = Metrics::default();
    metrics.add(
        &mut first,
        &named(&mut (1..MOST_METRICS).map(|at| at.to_string())),
    );
    let more = named(&mut ["1", "2"].map(str::to_owned).into_iter());
    metrics.add(&mut second, &more);
    metrics.add(&mut first, &more);
    metrics.add(&mut second, &more);
    assert_eq!(
        (first.named.len(), second.named.len()),
        (MOST_METRICS - 1, 1)
    );
    assert_eq!(metrics.unsummed, 2);
    assert_eq!(first.sum_of("1"), Some(1.0));
    assert_eq!(first.metric("1"), Some(0.5));
    first.derived = vec![("1".to_owned(), 3.0)];
    assert_eq!((first.metric("1"), first.metric("none")), (Some(3.0), None));
    let long = named(&mut (0..8).map(|at| at.to_string().repeat(1 << 20)));
    let mut column = Tally::default();
    let mut metrics = Metrics::default();
    metrics.add(&mut column, &long);
    assert_eq!((column.named.len(), metrics.unsummed), (4, 4));
}

#[test]
fn a_column_without_answers_has_no_latency() {
    assert_eq!(Tally::default().latency_ms(0.5), None);
}
