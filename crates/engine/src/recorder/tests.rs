use super::*;
use plumb_result::Histogram;

// Protects: memory prepared for ops does not count as recorded ops.
#[test]
fn expected_kinds_are_not_recorded_ops() {
    let cells = PhaseCells::new(1, Ramps::None).unwrap();
    cells.worker(0).expect(&[OpKind::Read, OpKind::Write].into());
    let reading = cells.read_worker(0);
    assert_eq!((reading.count(), reading.errors), (0, 0));
    assert_eq!(reading.measured(), BTreeMap::new());
    Recorder::new(cells.worker(0)).record(OpKind::Read, 4096, 500);
    let measured = cells.read_worker(0).measured();
    assert_eq!(measured.keys().collect::<Vec<_>>(), [&OpKind::Read]);
    assert_eq!((measured[&OpKind::Read].service.count(), measured[&OpKind::Read].service.min()), (1, Some(500)));
}

#[test]
fn readings_have_exact_extremes() {
    let cells = PhaseCells::new(2, Ramps::None).unwrap();
    let mut recorder = Recorder::new(cells.worker(1));
    recorder.record(OpKind::Read, 4096, 1_234);
    recorder.record(OpKind::Read, 4096, 99_999);
    recorder.record(OpKind::Fsync, 0, 3_600_000_000_000);
    let readings = cells.read();
    assert_eq!(readings[0].count(), 0);
    let read = &readings[1].kinds[&OpKind::Read];
    assert_eq!((read.service.count(), read.bytes), (2, 8192));
    assert_eq!((read.service.min(), read.service.max()), (Some(1_234), Some(99_999)));
    assert_eq!(readings[1].kinds[&OpKind::Fsync].service.max(), Some(3_600_000_000_000));
}

#[test]
fn the_difference_of_two_readings_covers_the_time_between() {
    let cells = PhaseCells::new(1, Ramps::None).unwrap();
    let mut recorder = Recorder::new(cells.worker(0));
    recorder.record(OpKind::Write, 512, 10);
    let before = cells.read();
    recorder.record(OpKind::Write, 512, 20);
    recorder.record(OpKind::Stat, 0, 5);
    let delta = cells.read()[0].since(&before[0]);
    assert_eq!(delta.kinds[&OpKind::Write].service.count(), 1);
    assert_eq!(delta.kinds[&OpKind::Write].bytes, 512);
    assert_eq!(delta.kinds[&OpKind::Stat].service.count(), 1);
}

#[test]
fn a_time_of_zero_counts() {
    let cells = PhaseCells::new(1, Ramps::None).unwrap();
    Recorder::new(cells.worker(0)).record(OpKind::Read, 1, 0);
    assert_eq!(cells.read()[0].count(), 1);
}

// Protects: ops of the ramp are excluded from the measurement, whose extremes stay exact.
#[test]
fn records_of_the_ramp_are_kept_apart() {
    let cells = PhaseCells::new(1, Ramps::Some).unwrap();
    let mut recorder = Recorder::with_ramp(cells.ramp(0).unwrap(), cells.worker(0));
    recorder.record(OpKind::Read, 4096, 7);
    recorder.count_error();
    recorder.set_transactions(3);
    assert_eq!((cells.read()[0].count(), cells.read()[0].errors), (0, 1), "errors are reported anyway");
    recorder.end_ramp();
    recorder.record(OpKind::Read, 4096, 1_000_001);
    recorder.set_transactions(5);
    let reading = &cells.read()[0];
    let service = &reading.kinds[&OpKind::Read].service;
    assert_eq!((service.count(), service.min(), service.max()), (1, Some(1_000_001), Some(1_000_001)));
    assert_eq!(reading.transactions, 2);
    assert_eq!(cells.moved(0), [(OpKind::Read, Moved { count: 1, bytes: 4096 })].into());
}

// Protects: records of a search are excluded from the result, even if they were read in the meantime.
#[test]
fn a_restart_resets_the_records() {
    let cells = PhaseCells::new(1, Ramps::None).unwrap();
    let mut recorder = Recorder::new(cells.worker(0));
    recorder.record(OpKind::Read, 4096, 1_000_000);
    recorder.record_response(OpKind::Read, 2_000_000, 1_000);
    recorder.record_parts(OpKind::Read, 500, 999_500);
    recorder.count_error();
    let search = cells.read();
    recorder.restart();
    assert_eq!((cells.read()[0].count(), cells.read()[0].errors), (0, 1), "errors are reported anyway");
    recorder.record(OpKind::Read, 512, 77);
    let reading = &cells.read()[0];
    let ops = reading.measured();
    let read = &ops[&OpKind::Read];
    assert_eq!((read.count, read.bytes, read.service.min(), read.service.max()), (1, 512, Some(77), Some(77)));
    assert!(read.response.is_none() && read.completion.is_none() && reading.start_lag.is_empty());
    let since = reading.since(&search[0]);
    assert_eq!((since.count(), since.bytes(), since.errors), (1, 512, 0));
}

#[test]
fn parts_of_service_times_are_also_recorded() {
    let cells = PhaseCells::new(1, Ramps::None).unwrap();
    let mut recorder = Recorder::new(cells.worker(0));
    recorder.record(OpKind::Write, 512, 9_000);
    recorder.record_parts(OpKind::Write, 300, 8_700);
    recorder.count_short(OpKind::Write);
    let ops = cells.read()[0].measured();
    let write = &ops[&OpKind::Write];
    assert_eq!(write.service.max(), Some(9_000));
    assert_eq!(write.submission.as_ref().and_then(Histogram::max), Some(300));
    assert_eq!(write.completion.as_ref().and_then(Histogram::max), Some(8_700));
    assert_eq!((write.short_count, write.response.is_none()), (1, true));
}

#[test]
fn ops_of_a_group_count_one_by_one() {
    let cells = PhaseCells::new(1, Ramps::None).unwrap();
    let mut recorder = Recorder::new(cells.worker(0));
    recorder.record_many(OpKind::Write, 16, 16 * 512, 100);
    recorder.record_many(OpKind::Read, 0, 0, 100);
    recorder.record(OpKind::Write, 512, 900);
    let ops = cells.read()[0].measured();
    assert_eq!(ops.len(), 1, "there are no reads");
    let write = &ops[&OpKind::Write];
    assert_eq!((write.count, write.bytes), (17, 17 * 512));
    assert_eq!((write.service.count(), write.service.sum()), (17, 16 * 100 + 900));
    assert_eq!(write.untimed_count, 15, "one op of the group was timed");
}
