use super::fake::{Call, FakeHosts, Shared, plan, world};
use super::*;
use plumb_engine::signals::StopFlag;
use plumb_lab::HostError;
use plumb_result::{Finding, Level, RunVerdict};
use plumb_store::StudyPlotRow;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

const ORIGIN: StudyOrigin<'_> = StudyOrigin { file: "/studies/fake.toml", text: "", options: "{}" };

/// Conducts a study from its current state.
fn go_on(store: &mut Store, study: &FrozenStudy, world: &Shared) -> Result<Conducted, StoreError> {
    go_on_until(store, study, world, StopFlag::detached(), None)
}

fn go_on_until(
    store: &mut Store,
    study: &FrozenStudy,
    world: &Shared,
    stop: StopFlag,
    budget: Option<Duration>,
) -> Result<Conducted, StoreError> {
    go_on_watched(store, study, world, (stop, budget), &mut ())
}

fn go_on_watched(
    store: &mut Store,
    study: &FrozenStudy,
    world: &Shared,
    (stop, budget): (StopFlag, Option<Duration>),
    watcher: &mut dyn ConductWatcher,
) -> Result<Conducted, StoreError> {
    let mut hosts = FakeHosts(world.clone());
    let mut setting = ConductSetting {
        hosts: &mut hosts,
        stop,
        budget,
        keep_going: false,
        only_plot: None,
        watcher,
        typed: String::new(),
        stream: false,
        command: "plumb study run fake.toml",
    };
    conduct(store, study, &mut setting)
}

fn begun(plan: Plan) -> (Store, FrozenStudy) {
    let mut store = Store::open_in_memory().unwrap();
    let study = FrozenStudy::begin(&mut store, plan, &ORIGIN).unwrap();
    (store, study)
}

fn failed(reason: &str) -> Option<HostError> {
    Some(HostError::Failed { reason: reason.to_owned(), refused: false })
}

fn lost() -> Option<HostError> {
    Some(HostError::Lost("the link broke".to_owned()))
}

fn count(rows: &[StudyRunRow], status: StudyRunStatus) -> usize {
    rows.iter().filter(|row| row.status == status).count()
}

fn plot(store: &Store, study: &FrozenStudy, plot: usize) -> StudyPlotRow {
    store.study_plots(&study.id).unwrap().swap_remove(plot)
}

#[test]
fn every_run_is_stored_with_its_result_and_everything_is_taken_down() {
    let world = world(|_, _, _| 1e8);
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "64k"], 2, 1));
    let conducted = go_on(&mut store, &study, &world).unwrap();
    assert_eq!(conducted, Conducted { ended: ConductEnded::AllRuns, refused: false });
    let rows = store.study_runs(&study.id).unwrap();
    assert_eq!((rows.len(), count(&rows, StudyRunStatus::Done)), (8, 8));
    for row in &rows {
        let result = store.get(row.run_id.as_deref().unwrap()).unwrap();
        assert_eq!(result.phases[0].metrics.len(), 2);
        assert!(row.devices.as_deref().unwrap().contains("\"writes\":512"));
        assert_eq!((row.attempts, row.build), (1, Some(1)));
    }
    assert_eq!(world.borrow().standing, 0);
    let row = store.study(&study.id).unwrap().row;
    assert!(row.done && !row.running);
    // Conducting a completed study does nothing.
    let calls = world.borrow().calls.len();
    go_on(&mut store, &study, &world).unwrap();
    assert_eq!(world.borrow().calls.len(), calls);
}

/// Resuming uses the frozen plan, not the current file.
#[test]
fn the_plan_comes_back_as_it_was_frozen() {
    let (store, study) = begun(plan(&["a", "b"], &["4k"], 3, 2));
    assert_eq!(FrozenStudy::open(&store, &study.id).unwrap(), study);
    assert_eq!(store.find_study("fake").unwrap(), study.id);
    assert_eq!(store.find_study("/studies/fake.toml").unwrap(), study.id);
    assert!(matches!(store.find_study("nothing"), Err(StoreError::NoStudy { .. })));
}

#[test]
fn a_failed_build_fails_the_runs_of_its_plot_and_the_rest_goes_on() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().faults =
        Box::new(|call| if call == Call::Build(1) { failed("mkfs: exit code 1") } else { None });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "64k"], 2, 1));
    go_on(&mut store, &study, &world).unwrap();
    let rows = store.study_runs(&study.id).unwrap();
    assert_eq!((count(&rows, StudyRunStatus::Done), count(&rows, StudyRunStatus::Failed)), (6, 2));
    for row in rows.iter().filter(|row| row.plot == 1) {
        assert_eq!(row.reason.as_deref(), Some("its plot was not built: host local: mkfs: exit code 1"));
        assert_eq!(row.run_id, None);
    }
    let plot = plot(&store, &study, 1);
    assert_eq!((plot.state, plot.builds), (StudyPlotState::Failed, 1));
    assert_eq!(world.borrow().standing, 0);
}

#[test]
fn a_run_without_a_value_is_failed_with_its_reason_and_the_rest_goes_on() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().faults = Box::new(|call| if call == Call::Run(0) { failed("no answer in 60 s") } else { None });
    world.borrow_mut().mutate = Box::new(|seq, answer| match seq {
        1 => {
            answer.result = None;
            answer.exit_code = 4;
            answer.stderr = "error: pwrite: No space left on device\n\n".to_owned();
        }
        2 => answer.result = None,
        3 => answer.result.as_mut().unwrap().partial = true,
        4 => answer.result.as_mut().unwrap().verdict = plumb_result::RunVerdict::Reject,
        5 => answer.exit_code = 2,
        _ => {}
    });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "64k"], 2, 1));
    go_on(&mut store, &study, &world).unwrap();
    let rows = store.study_runs(&study.id).unwrap();
    let reason = |seq: usize| rows[seq].reason.clone().unwrap_or_default();
    assert_eq!(reason(0), "no answer in 60 s");
    assert_eq!(reason(1), "exit code 4: error: pwrite: No space left on device");
    assert_eq!(reason(2), "it gave no result");
    assert_eq!(reason(3), "it was ended early by a signal");
    assert_eq!(reason(5), "exit code 2");
    assert_eq!((count(&rows, StudyRunStatus::Failed), rows[4].status), (5, StudyRunStatus::Rejected));
    assert_eq!(count(&rows, StudyRunStatus::Done), 2);
    // Only failed runs are run again.
    world.borrow_mut().faults = Box::new(|_| None);
    world.borrow_mut().mutate = Box::new(|_, _| {});
    assert_eq!(store.replan_failed_runs(&study.id).unwrap(), 5);
    world.borrow_mut().calls.clear();
    go_on(&mut store, &study, &world).unwrap();
    let again: Vec<Call> = world.borrow().calls.iter().filter(|call| matches!(call, Call::Run(_))).copied().collect();
    assert_eq!(again, [0, 1, 2, 3, 5].map(Call::Run));
}

#[test]
fn a_lost_host_is_reopened_and_earlier_runs_are_kept() {
    let world = world(|_, _, _| 1e8);
    let mut losses = 0;
    world.borrow_mut().faults = Box::new(move |call| {
        (call == Call::Run(2) && {
            losses += 1;
            losses == 1
        })
        .then(lost)
        .flatten()
    });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "16k", "64k"], 1, 1));
    go_on(&mut store, &study, &world).unwrap();
    let rows = store.study_runs(&study.id).unwrap();
    assert_eq!(count(&rows, StudyRunStatus::Done), 6);
    assert_eq!(
        rows.iter().map(|row| (row.attempts, row.build.unwrap())).collect::<Vec<_>>()[..3],
        [(1, 1), (1, 1), (2, 2)]
    );
    let plot = plot(&store, &study, 0);
    assert_eq!((plot.builds, plot.state), (2, StudyPlotState::Done));
    assert!(plot.reason.unwrap().contains("the link broke"));
}

#[test]
fn a_host_lost_repeatedly_is_a_failure() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().faults =
        Box::new(|call| if matches!(call, Call::Run(1) | Call::Build(1)) { lost() } else { None });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "16k", "64k"], 1, 1));
    go_on(&mut store, &study, &world).unwrap();
    let rows = store.study_runs(&study.id).unwrap();
    assert_eq!((rows[1].status, rows[1].attempts), (StudyRunStatus::Failed, 3));
    assert!(rows[1].reason.as_deref().unwrap().contains("lost 3 times"), "{:?}", rows[1].reason);
    assert_eq!((rows[0].status, rows[2].status), (StudyRunStatus::Done, StudyRunStatus::Done));
    assert!(rows[3..].iter().all(|row| row.status == StudyRunStatus::Failed));
    assert_eq!(plot(&store, &study, 1).builds, 3, "a machine that does not boot is tried again");
}

/// Records the events that users see.
struct Lines(Vec<String>);

impl ConductWatcher for Lines {
    fn event(&mut self, event: &ConductEvent<'_>) {
        match event {
            ConductEvent::Trouble(text) => self.0.push((*text).to_owned()),
            ConductEvent::RunEnded { number, rejected_before, status, .. } => {
                self.0.push(format!("{number} {}{}", status.name(), " again".repeat(*rejected_before as usize)));
            }
            _ => {}
        }
    }
}

// Protects: in the review, a missing mkfs was reported 36 times.
#[test]
fn a_failure_that_comes_again_ends_the_study() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().faults = Box::new(|call| match call {
        Call::Build(plot) => failed(&format!("mkfs.xfs /dev/loop{plot}: not found")),
        _ => None,
    });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "64k"], 3, 2));
    let mut lines = Lines(Vec::new());
    let at_once = (StopFlag::detached(), None);
    let conducted = go_on_watched(&mut store, &study, &world, at_once, &mut lines).unwrap();
    assert_eq!(conducted.ended, ConductEnded::SameFailure);
    assert_eq!(
        lines.0,
        [
            "plot 1 was not built, so its 4 runs have failed: host local: mkfs.xfs /dev/loop0: not found",
            "plot 2 was not built, so its 4 runs have failed: as before",
        ]
    );
    let rows = store.study_runs(&study.id).unwrap();
    assert_eq!((count(&rows, StudyRunStatus::Failed), count(&rows, StudyRunStatus::Planned)), (8, 16));
    // After a fix, all of it can be run.
    world.borrow_mut().faults = Box::new(|_| None);
    store.replan_failed_runs(&study.id).unwrap();
    assert_eq!(go_on(&mut store, &study, &world).unwrap().ended, ConductEnded::AllRuns);
    assert_eq!(count(&store.study_runs(&study.id).unwrap(), StudyRunStatus::Done), 24);
}

#[test]
fn a_run_that_fails_as_another_did_ends_the_study_on_its_plot() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().faults = Box::new(|call| if matches!(call, Call::Run(_)) { failed("no space") } else { None });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "64k"], 2, 2));
    assert_eq!(go_on(&mut store, &study, &world).unwrap().ended, ConductEnded::SameFailure);
    assert_eq!(count(&store.study_runs(&study.id).unwrap(), StudyRunStatus::Failed), 2);
    assert_eq!(world.borrow().standing, 0, "what was built is taken down");
}

// Protects: a repeat is close to its original position in the order, not at the end of the plot,
// where drift has gone further.
#[test]
fn a_rejected_run_is_made_again_after_its_own_repetition() {
    let world = world(|_, _, _| 1e8);
    let times = std::cell::Cell::new(0);
    world.borrow_mut().mutate = Box::new(move |seq, answer| {
        if seq == 0 && times.replace(times.get() + 1) == 0 {
            answer.result.as_mut().unwrap().verdict = plumb_result::RunVerdict::Reject;
        }
    });
    let (mut store, study) = begun(plan(&["a"], &["4k", "64k"], 1, 3));
    go_on(&mut store, &study, &world).unwrap();
    let made: Vec<u32> = world
        .borrow()
        .calls
        .iter()
        .filter_map(|call| match call {
            Call::Run(seq) => Some(*seq),
            _ => None,
        })
        .collect();
    assert_eq!(made, [0, 1, 0, 2, 3, 4, 5]);
}

// Protects: a rejected run is made again once, and both results are kept; each event names its run.
#[test]
fn a_rejected_run_is_made_again_once() {
    let world = world(|_, _, _| 1e8);
    let times = std::cell::Cell::new(0);
    world.borrow_mut().mutate = Box::new(move |seq, answer| {
        let reject = seq == 3 || (seq == 1 && times.replace(times.get() + 1) == 0);
        if reject {
            answer.result.as_mut().unwrap().verdict = plumb_result::RunVerdict::Reject;
        }
    });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "64k"], 1, 1));
    let mut lines = Lines(Vec::new());
    go_on_watched(&mut store, &study, &world, (StopFlag::detached(), None), &mut lines).unwrap();
    lines.0.sort();
    assert_eq!(lines.0, ["1 done", "2 done again", "2 rejected", "3 done", "4 rejected", "4 rejected again"]);
    let rows = store.study_runs(&study.id).unwrap();
    let of = |seq: usize| (rows[seq].status, rows[seq].attempts, rows[seq].rejected_before);
    assert_eq!(of(0), (StudyRunStatus::Done, 1, 0));
    assert_eq!(of(1), (StudyRunStatus::Done, 2, 1));
    assert_eq!(
        of(3),
        (StudyRunStatus::Rejected, 2, 1),
        "a check that goes on rejecting has found something that lasts"
    );
    assert_eq!(store.list(&plumb_store::Filter::default()).unwrap().len(), 6, "the first results are kept");
    // On request, any number of times.
    assert_eq!(store.replan_rejected_runs(&study.id, None).unwrap(), 1);
    go_on(&mut store, &study, &world).unwrap();
    let again = &store.study_runs(&study.id).unwrap()[3];
    assert_eq!((again.status, again.attempts, again.rejected_before), (StudyRunStatus::Rejected, 3, 2));
}

#[test]
fn user_commands_around_a_plot_also_run_when_the_build_fails() {
    let world = world(|_, _, _| 1e8);
    let mut plan = plan(&["a", "b"], &["4k"], 1, 1);
    plan.plots[0].on_enter = vec!["false".to_owned()];
    plan.plots[0].on_leave = vec!["true".to_owned()];
    let (mut store, study) = begun(plan);
    go_on(&mut store, &study, &world).unwrap();
    assert_eq!(world.borrow().calls[..3], [Call::Command, Call::Command, Call::Open]);
    let rows = store.study_runs(&study.id).unwrap();
    assert!(rows[0].reason.as_deref().unwrap().contains("on-enter `false`: exit code 1"));
    assert_eq!(rows[1].status, StudyRunStatus::Done);
}

#[test]
fn a_signal_during_on_enter_fails_nothing() {
    let world = world(|_, _, _| 1e8);
    let stop = StopFlag::detached();
    world.borrow_mut().faults = Box::new(move |call| {
        if call == Call::Command {
            stop.request();
            return Some(HostError::Failed { reason: "interrupted".to_owned(), refused: false });
        }
        None
    });
    let mut plan = plan(&["a", "b"], &["4k"], 1, 1);
    plan.plots[0].on_enter = vec!["boot".to_owned()];
    let (mut store, study) = begun(plan);
    let ended = go_on_until(&mut store, &study, &world, stop, None).unwrap();
    assert_eq!(ended.ended, ConductEnded::Interrupted);
    assert_eq!(count(&store.study_runs(&study.id).unwrap(), StudyRunStatus::Planned), 2);
}

#[test]
fn a_signal_ends_it_with_nothing_standing_and_no_run_failed() {
    let world = world(|_, _, _| 1e8);
    let stop = StopFlag::detached();
    // As the kernel does it: the signal also reaches the run's own process, which fails because of it.
    world.borrow_mut().faults = Box::new(move |call| {
        if call == Call::Run(1) {
            stop.request();
            return failed("killed");
        }
        None
    });
    let (mut store, study) = begun(plan(&["a", "b"], &["4k", "64k"], 1, 1));
    let conducted = go_on_until(&mut store, &study, &world, stop, None).unwrap();
    assert_eq!(conducted.ended, ConductEnded::Interrupted);
    let rows = store.study_runs(&study.id).unwrap();
    assert_eq!((count(&rows, StudyRunStatus::Done), count(&rows, StudyRunStatus::Planned)), (1, 3));
    assert_eq!(world.borrow().standing, 0);
    assert!(!store.study(&study.id).unwrap().row.running);
    world.borrow_mut().faults = Box::new(|_| None);
    go_on(&mut store, &study, &world).unwrap();
    assert_eq!(count(&store.study_runs(&study.id).unwrap(), StudyRunStatus::Done), 4);
    assert_eq!(plot(&store, &study, 0).builds, 2, "the plot that was cut was built again, and that is kept");
}

#[test]
fn a_spent_budget_lets_no_plot_begin() {
    let world = world(|_, _, _| 1e8);
    let (mut store, study) = begun(plan(&["a", "b"], &["4k"], 2, 1));
    let conducted = go_on_until(&mut store, &study, &world, StopFlag::detached(), Some(Duration::ZERO)).unwrap();
    assert_eq!((conducted.ended, world.borrow().calls.len()), (ConductEnded::Budget, 0));
}

/// Compared levels are repeated together, and only in complete blocks: each follows the other one equally often.
#[test]
fn optional_repetitions_of_compared_levels_end_together() {
    let cases = [([1.0; 6], 2), ([1.0, 1.05, 1.025, 1.025, 1.0, 1.0], 4), ([1.0, 2.0, 1.0, 2.0, 1.0, 2.0], 6)];
    for (wild, made) in cases {
        let mut planned = plan(&["a"], &["calm", "wild"], 1, 6);
        planned.compare.by = "size".to_owned();
        planned.stop = Some(crate::plan::StopPlan { metric: "bw".to_owned(), half_width: 0.05, repeats_min: 2 });
        let (mut store, study) = begun(planned);
        let speed = move |size: &str, seq: u32| if size == "wild" { 1e8 * wild[seq as usize / 2] } else { 1e8 };
        let world = world(move |levels, _, seq| speed(&levels["size"], seq));
        go_on(&mut store, &study, &world).unwrap();
        let rows = store.study_runs(&study.id).unwrap();
        for cell in 0..2 {
            let runs = study.plan.runs.iter().zip(&rows);
            let done = runs.filter(|(run, row)| run.cell == cell && row.status == StudyRunStatus::Done).count();
            assert_eq!(done, made, "cell {cell}: {wild:?}");
        }
    }
}

/// Only precision ends optional repetitions, cell by cell if a hard factor is compared; a resumed
/// study knows its earlier measurements.
#[test]
fn optional_repetitions_end_when_the_numbers_are_precise() {
    let mut planned = plan(&["a"], &["calm", "wild"], 1, 6);
    planned.stop = Some(crate::plan::StopPlan { metric: "bw".to_owned(), half_width: 0.05, repeats_min: 3 });
    let (mut store, study) = begun(planned);
    let world = world(|levels, _, seq| if levels["size"] == "calm" { 1e8 } else { 1e8 * f64::from(1 + seq % 3) });
    let stop = StopFlag::detached();
    world.borrow_mut().faults = Box::new(move |call| {
        if call == Call::Run(5) {
            stop.request();
        }
        None
    });
    go_on_until(&mut store, &study, &world, stop, None).unwrap();
    world.borrow_mut().faults = Box::new(|_| None);
    go_on(&mut store, &study, &world).unwrap();
    let rows = store.study_runs(&study.id).unwrap();
    let of = |cell: u32, status: StudyRunStatus| {
        study.plan.runs.iter().zip(&rows).filter(|(run, row)| run.cell == cell && row.status == status).count()
    };
    assert_eq!((of(0, StudyRunStatus::Done), of(0, StudyRunStatus::Skipped)), (3, 3));
    assert_eq!((of(1, StudyRunStatus::Done), of(1, StudyRunStatus::Skipped)), (6, 0));
    assert!(store.study(&study.id).unwrap().row.done);
}

/// A full disk under the store: stored results stay, no build is left behind, and the study
/// resumes when there is space.
#[test]
fn a_store_without_room_stops_it_and_resuming_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plumb.db");
    let mut store = Store::open(&path).unwrap();
    let study = FrozenStudy::begin(&mut store, plan(&["a", "b"], &["4k", "64k"], 2, 8), &ORIGIN).unwrap();
    let world = world(|_, _, _| 1e8);
    store.limit_growth(2).unwrap();
    let error = go_on(&mut store, &study, &world).unwrap_err();
    assert!(error.is_full(), "{error}");
    assert_eq!(world.borrow().standing, 0);
    drop(store);
    // The result that could not be stored is next to the database.
    let files = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    let [kept] = kept.as_slice() else { panic!("{kept:?}") };
    let results = plumb_result::reader::read(&std::fs::read(kept).unwrap()).unwrap();
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.import(&results[0]).unwrap(), plumb_store::Imported::Added);
    let done = count(&store.study_runs(&study.id).unwrap(), StudyRunStatus::Done);
    assert!(done < 64);
    go_on(&mut store, &study, &world).unwrap();
    assert_eq!(count(&store.study_runs(&study.id).unwrap(), StudyRunStatus::Done), 64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("PLUMB_TEST_LAB").is_some() { 48 } else { 12 }, ..ProptestConfig::default() })]

    /// After kills at any call, even two, the resumed study has the same runs: none lost, and
    /// none repeated that had ended.
    #[test]
    fn no_kill_loses_or_repeats_a_run(kills in prop::collection::vec(1usize..40, 1..3)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plumb.db");
        let mut store = Store::open(&path).unwrap();
        let study = FrozenStudy::begin(&mut store, plan(&["a", "b"], &["4k", "64k"], 2, 2), &ORIGIN).unwrap();
        drop(store);
        let world = world(|_, _, seq| 1e8 + f64::from(seq));
        let mut stored: Vec<(u32, Option<String>)> = Vec::new();
        for kill in kills.into_iter().map(Some).chain([None]) {
            let begun = world.borrow().calls.len();
            world.borrow_mut().dies_at = kill.map(|kill| begun + kill);
            let mut store = Store::open(&path).unwrap();
            let ended = catch_unwind(AssertUnwindSafe(|| go_on(&mut store, &study, &world)));
            drop(store);
            let store = Store::open(&path).unwrap();
            let rows = store.study_runs(&study.id).unwrap();
            // Runs that had ended are unchanged.
            for (seq, run) in &stored {
                prop_assert_eq!(&rows[*seq as usize].run_id, run);
            }
            stored = rows.iter().filter(|row| row.status.has_ended()).map(|row| (row.seq, row.run_id.clone())).collect();
            if kill.is_none() {
                prop_assert_eq!(ended.unwrap().unwrap().ended, ConductEnded::AllRuns);
                prop_assert_eq!(count(&rows, StudyRunStatus::Done), 16);
            }
        }
        // A run is made again only if a kill interrupted it.
        let calls = world.borrow().calls.clone();
        let made = calls.iter().filter(|call| matches!(call, Call::Run(_))).count();
        prop_assert!((16..=18).contains(&made), "{} runs were made", made);
        let store = Store::open(&path).unwrap();
        let runs: std::collections::BTreeSet<_> = store.study_runs(&study.id).unwrap().into_iter().map(|row| row.run_id).collect();
        prop_assert_eq!(runs.len(), 16);
        prop_assert_eq!(store.list(&plumb_store::Filter::default()).unwrap().len(), 16, "no result without its run");
    }
}

// Protects: a busy machine gives an answer if its load was declared, and rejects runs otherwise.
#[test]
fn runs_under_a_declared_load_count() {
    let busy = |declared: bool| {
        let world = world(|_, _, _| 1e8);
        world.borrow_mut().mutate = Box::new(|_, answer| {
            let result = answer.result.as_mut().unwrap();
            result.verdict = RunVerdict::Reject;
            result.checks.push(Finding {
                code: "C1".to_owned(),
                level: Level::Fail,
                phase: None,
                observed: String::new(),
                threshold: String::new(),
                message: "Others used about 40 % of the device's time.".to_owned(),
                remedy: "Stop them.".to_owned(),
                remedies: Vec::new(),
                at_ns: None,
            });
        });
        let (mut store, study) = begun(Plan { under_load: declared, ..plan(&["a", "b"], &["4k"], 2, 1) });
        go_on(&mut store, &study, &world).unwrap();
        let rows = store.study_runs(&study.id).unwrap();
        let first = store.get(rows[0].run_id.as_deref().unwrap()).unwrap();
        (count(&rows, StudyRunStatus::Done), first.checks[0].level)
    };
    assert_eq!(busy(false), (0, Level::Fail));
    assert_eq!(busy(true), (4, Level::Note));
}
