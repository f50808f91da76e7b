//! IOR's report as JSON. Keys have IOR's order, because scripts compare the text.

use super::print::{Done, MIB, Session, Summary, access_name, api_name, has_latencies, maxima, options, reorder_flags};
use super::result::{Access, AccessKind};
use super::settings::{Random, Test};
use crate::aiori::VERSION;
use plumb_result::histogram::Histogram;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// A value whose objects keep the order of their keys.
enum Ordered {
    Plain(Value),
    Object(Vec<(&'static str, Ordered)>),
    Array(Vec<Ordered>),
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Ordered::Plain(value) => value.serialize(serializer),
            Ordered::Object(pairs) => serializer.collect_map(pairs.iter().map(|(name, value)| (name, value))),
            Ordered::Array(values) => serializer.collect_seq(values),
        }
    }
}

/// Creates an object of values whose own order does not matter.
fn object(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Ordered {
    Ordered::Object(pairs.into_iter().map(|(name, value)| (name, Ordered::Plain(value))).collect())
}

fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Formats the session and all its tests as JSON.
pub fn json(session: &Session, all: &[Done], ended: &str, ranks_per_node: u32) -> String {
    let text = |text: &str| Ordered::Plain(json!(text));
    let summaries = all.iter().flat_map(|done| summaries(done, ranks_per_node)).collect();
    let all = Ordered::Object(vec![
        ("Version", text(VERSION)),
        ("Began", text(&session.began)),
        ("Command line", text(&session.command)),
        ("Machine", text(&session.machine)),
        ("tests", Ordered::Array(all.iter().map(|done| test(session, done, ranks_per_node)).collect())),
        ("summary", Ordered::Array(summaries)),
        ("Finished", text(ended)),
    ]);
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

fn test(session: &Session, done: &Done, ranks_per_node: u32) -> Ordered {
    let results = done.accesses.iter().filter(|access| access.kind != AccessKind::WriteCheck);
    let system = &done.file_system;
    let mut test = vec![
        ("TestID", Ordered::Plain(json!(done.test.id))),
        ("StartTime", Ordered::Plain(json!(done.began))),
        ("Path", Ordered::Plain(json!(done.file))),
        ("Capacity", Ordered::Plain(json!(system.capacity()))),
        ("Used Capacity", Ordered::Plain(json!(format!("{:.1}%", system.used_percent())))),
        ("Inodes", Ordered::Plain(json!(format!("{:.1} Mi", system.inodes_mi())))),
        ("Used Inodes", Ordered::Plain(json!(format!("{:.1}%", system.used_inodes_percent())))),
        ("Parameters", parameters(session, &done.test, ranks_per_node)),
        ("Options", object(options(done, ranks_per_node))),
        ("Results", Ordered::Array(results.map(|access| result(&done.test, access)).collect())),
    ];
    if done.test.output.verbosity > 0 {
        test.push(("max", max(done)));
    }
    Ordered::Object(test)
}

/// Formats one access; keys that IOR does not have come last.
fn result(test: &Test, access: &Access) -> Ordered {
    let mut pairs = vec![
        ("access", json!(access_name(access))),
        ("bwMiB", json!(round(access.bandwidth() / MIB))),
        ("blockKiB", json!(test.size.block_bytes as f64 / 1024.0)),
        ("xferKiB", json!(test.size.transfer_bytes as f64 / 1024.0)),
        ("iops", json!(round(access.iops(test)))),
        ("latency", json!(access.mean_transfer_s())),
        ("openTime", json!(access.open_s)),
        ("wrRdTime", json!(access.transfer_s)),
        ("closeTime", json!(access.close_s)),
        ("totalTime", json!(access.total_s)),
        ("errors", json!(access.mismatched)),
    ];
    if has_latencies(test) {
        pairs.push(("latencyPercentiles", percentiles(&access.latency)));
    }
    object(pairs)
}

/// Formats latencies of single transfers, in seconds.
fn percentiles(latency: &Histogram) -> Value {
    let at = |quantile: f64| latency.quantile(quantile).map(|ns| ns as f64 / 1e9);
    json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p99.9": at(0.999), "max": latency.max().map(|ns| ns as f64 / 1e9) })
}

/// Formats the best rates of a test.
fn max(done: &Done) -> Ordered {
    let rates = maxima(done).into_iter().flat_map(|(kind, rate)| {
        let (mib, mb) = if kind == AccessKind::Write { ("writeMiB", "writeMB") } else { ("readMiB", "readMB") };
        [(mib, json!(rate / MIB)), (mb, json!(rate / 1e6))]
    });
    object(rates)
}

fn summaries(done: &Done, ranks_per_node: u32) -> Vec<Ordered> {
    let kinds = [AccessKind::Write, AccessKind::Read].into_iter();
    kinds.filter_map(|kind| summary(done, kind, ranks_per_node)).collect()
}

fn summary(done: &Done, kind: AccessKind, ranks_per_node: u32) -> Option<Ordered> {
    let accesses = done.accesses_of_kind(kind);
    let first = accesses.first()?;
    let (test, sum) = (&done.test, Summary::new(&done.test, &accesses));
    let (constant, random) = reorder_flags(test);
    Some(object([
        ("operation", json!(access_name(first))),
        ("API", json!(api_name(test))),
        ("TestID", json!(test.id)),
        ("ReferenceNumber", json!(test.reference)),
        ("segmentCount", json!(test.size.segments)),
        ("blockSize", json!(test.size.block_bytes)),
        ("transferSize", json!(test.size.transfer_bytes)),
        ("numTasks", json!(test.tasks)),
        ("tasksPerNode", json!(ranks_per_node)),
        ("repetitions", json!(test.repetition.repetitions)),
        ("filePerProc", json!(u8::from(test.files.file_per_rank))),
        ("reorderTasks", json!(constant)),
        ("taskPerNodeOffset", json!(test.order.node_distance)),
        ("reorderTasksRandom", json!(random)),
        ("reorderTasksRandomSeed", json!(test.order.reorder_seed)),
        ("bwMaxMIB", json!(round(sum.bandwidth.max))),
        ("bwMinMIB", json!(round(sum.bandwidth.min))),
        ("bwMeanMIB", json!(round(sum.bandwidth.mean))),
        ("bwStdMIB", json!(round(sum.bandwidth.deviation))),
        ("OPsMax", json!(round(sum.ops.max))),
        ("OPsMin", json!(round(sum.ops.min))),
        ("OPsMean", json!(round(sum.ops.mean))),
        ("OPsSD", json!(round(sum.ops.deviation))),
        ("MeanTime", json!(sum.mean_s)),
        ("xsizeMiB", json!(sum.bytes as f64 / MIB)),
    ]))
}

fn parameters(session: &Session, test: &Test, ranks_per_node: u32) -> Ordered {
    let (constant, random) = reorder_flags(test);
    let flag = |is_set: bool| json!(u8::from(is_set));
    let mut machine = session.machine.split(' ');
    let (system, host) = (machine.next().unwrap_or_default(), machine.next().unwrap_or_default());
    object([
        ("testID", json!(test.id)),
        ("refnum", json!(test.reference)),
        ("api", json!(api_name(test))),
        ("platform", json!(format!("{host}({system})"))),
        ("testFileName", json!(test.files.names.join("@"))),
        ("deadlineForStonewall", json!(test.limits.wall_s)),
        ("stoneWallingWearOut", flag(test.limits.wear_out)),
        ("maxTimeDuration", json!(test.limits.time_max_min)),
        ("dryRun", flag(test.phases.dry)),
        ("nodes", json!(test.tasks.div_ceil(ranks_per_node.max(1)))),
        ("tasksPerNode", json!(ranks_per_node)),
        ("repetitions", json!(test.repetition.repetitions)),
        ("multiFile", flag(test.files.multi_file)),
        ("interTestDelay", json!(test.repetition.delay_s)),
        ("fsync", flag(test.caching.flushes)),
        ("fsyncperwrite", flag(test.caching.flushes_each)),
        ("useExistingTestFile", flag(test.files.uses_existing)),
        ("uniqueDir", flag(test.files.unique_dirs)),
        ("readFile", flag(test.phases.reads)),
        ("writeFile", flag(test.phases.writes)),
        ("filePerProc", flag(test.files.file_per_rank)),
        ("reorderTasks", json!(constant)),
        ("reorderTasksRandom", json!(random)),
        ("reorderTasksRandomSeed", json!(test.order.reorder_seed)),
        (
            "randomOffset",
            json!(match test.order.random {
                Random::No => 0,
                Random::InBlock => 1,
                Random::Anywhere => 2,
            }),
        ),
        ("checkWrite", flag(test.phases.checks_write)),
        ("checkRead", flag(test.phases.checks_read)),
        ("keepFile", flag(test.files.keeps)),
        ("keepFileWithError", flag(test.files.keeps_wrong)),
        ("verbose", json!(test.output.verbosity)),
        ("setTimeStampSignature/incompressibleSeed", json!(test.data.seed.unwrap_or(0))),
        ("collective", flag(test.phases.collective)),
        ("segmentCount", json!(test.size.segments)),
        ("transferSize", json!(test.size.transfer_bytes)),
        ("blockSize", json!(test.size.block_bytes)),
    ])
}
