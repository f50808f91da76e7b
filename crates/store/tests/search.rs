//! Search of stored runs.

mod common;

use common::{FIRST, SECOND, result};
use plumb_result::RunVerdict;
use plumb_store::{Filter, FoundRuns, Mark, MarkKind, PageEnd, ResultStore, RunSearch, RunStatus, Store, TagChange};

fn store() -> Store {
    let mut store = Store::open_in_memory().unwrap();
    store.import(&result(FIRST, 1)).unwrap();
    let mut other = result(SECOND, 2);
    other.environment.hostname = "other".to_owned();
    other.workload.name = "100%_\\".to_owned();
    other.verdict = RunVerdict::Reject;
    let facts = other.target.get_mut("data").unwrap();
    facts.path = "/srv".to_owned();
    facts.stack = vec![plumb_result::observe::BlockLayer { model: Some("Fast 9000".to_owned()), ..Default::default() }];
    store.import(&other).unwrap();
    store.tag(SECOND, "nightly", TagChange::Add).unwrap();
    store
}

fn ids(found: &FoundRuns) -> Vec<&str> {
    found.runs.iter().map(|run| run.row.id.as_str()).collect()
}

#[test]
fn every_condition_selects() {
    let store = store();
    let second = [
        Filter { host: Some("other".to_owned()), ..Filter::default() },
        Filter { model: Some("Fast 9000".to_owned()), ..Filter::default() },
        Filter { path: Some("/srv".to_owned()), ..Filter::default() },
        Filter { workload: Some("100%_\\".to_owned()), ..Filter::default() },
        Filter { tag: Some("nightly".to_owned()), ..Filter::default() },
        Filter { verdict: Some(RunVerdict::Reject), ..Filter::default() },
        Filter { since_ns: Some(1_714_564_802_000_000_000), ..Filter::default() },
        Filter { text: Some("FAST srv ext4".to_owned()), ..Filter::default() },
        Filter { text: Some("%_\\".to_owned()), ..Filter::default() },
    ];
    for query in second {
        let found = store.search(&Filter { limit: Some(10), ..query.clone() }).unwrap();
        assert_eq!((ids(&found), found.total), (vec![SECOND], 1), "{query:?}");
    }
    let both = [
        Filter::default(),
        Filter { filesystem: Some("ext4".to_owned()), ..Filter::default() },
        Filter { kernel: Some("6.1.0-35-amd64".to_owned()), ..Filter::default() },
        Filter { tool: Some("plumb".to_owned()), ..Filter::default() },
    ];
    for query in both {
        let found = store.search(&Filter { limit: Some(10), ..query.clone() }).unwrap();
        assert_eq!((ids(&found), found.total), (vec![SECOND, FIRST], 2), "{query:?}");
    }
    for text in ["%", "x_"] {
        let query = Filter { text: Some(text.to_owned()), ..Filter::default() };
        let found = store.search(&Filter { limit: Some(10), ..query.clone() }).unwrap();
        assert_eq!(found.total, u64::from(text == "%"), "wildcards of SQL are plain characters: {text}");
    }
}

// Protects readers of long lists: no run is shown twice or left out at the edge of a page.
#[test]
fn pages_join_without_gaps_even_where_times_are_equal() {
    let mut store = Store::open_in_memory().unwrap();
    let all: Vec<String> = (0..23).map(|i| format!("018f0000-0000-7000-8000-0000000000{i:02x}")).collect();
    for (i, id) in all.iter().enumerate() {
        store.import(&result(id, i as u32 / 10)).unwrap();
    }
    let mut seen = Vec::new();
    let mut after: Option<PageEnd> = None;
    loop {
        let page = store.search(&Filter { after: after.take(), limit: Some(5), ..Filter::default() }).unwrap();
        assert_eq!(page.total, 23);
        seen.extend(page.runs.iter().map(|run| run.row.id.clone()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    seen.reverse();
    assert_eq!(seen, all);
}

#[test]
fn numbers_come_with_their_tier_and_without_missing_ones() {
    let found = store().search(&Filter { limit: Some(1), ..Filter::default() }).unwrap();
    let [phase] = found.runs[0].phases.as_slice() else { panic!("{found:?}") };
    let bandwidth = phase.metrics["write.bw".parse().as_ref().unwrap()];
    assert_eq!(bandwidth.tier.map(|tier| tier.name()), Some("mixed"));
    assert_eq!(bandwidth.device_share, Some(0.9));
    assert_eq!(found.runs[0].phase_count, 1);
}

#[test]
fn known_values_are_those_of_stored_runs() {
    let known = store().known_values().unwrap();
    assert_eq!(known.hosts, ["box", "other"]);
    assert_eq!(known.models, ["Fast 9000"]);
    assert_eq!(known.tags, ["nightly"]);
    assert_eq!(known.tools, ["plumb"]);
    assert_eq!(known.workloads, ["100%_\\", "seq"]);
}

// Protects: a history leaves out retracted runs, and those without a result.
#[test]
fn ids_of_a_history_leave_out_retracted_runs() {
    let mut store = store();
    assert_eq!(store.matching_ids(&Filter::default(), 10).unwrap(), [FIRST, SECOND]);
    let mark = Mark {
        id: "018f0000-0000-7000-8000-0000000000ff".to_owned(),
        kind: MarkKind::Retraction,
        reason: "wrong disk".to_owned(),
        at: 1,
        author: "ann@box".to_owned(),
    };
    store.mark(FIRST, &mark).unwrap();
    assert_eq!(store.matching_ids(&Filter::default(), 10).unwrap(), [SECOND]);
    let failed = Filter { status: Some(RunStatus::Failed), ..Filter::default() };
    assert!(store.matching_ids(&failed, 10).unwrap().is_empty());
}
