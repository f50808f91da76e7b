//! Random content of files after a run.

use super::common::*;
use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

fn compressed_share(bytes: &[u8]) -> f64 {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len() as f64 / bytes.len() as f64
}

/// Counts the sectors of a file that also occur in another file, or elsewhere in this one.
fn repeated(bytes: &[u8], seen: &mut HashSet<Vec<u8>>) -> usize {
    bytes.chunks_exact(512).filter(|sector| !seen.insert(sector.to_vec())).count()
}

const FILE: &str = r#"
    name = "random-content"
    [target.data.file]
    path = "data"
    size = "4MiB"
    [[phase]]
    name = "write"
    [[phase.workers]]
    target = "data"
    limit.passes = 3
    work.blocks.pattern = "permutation"
"#;

/// Protects results on storage that deduplicates or compresses. A run's writes cannot be stored in less space, with
/// any queue, backend and interleaved reads.
#[test]
fn no_sector_of_a_file_repeats_and_nothing_compresses() {
    let place = Place::new();
    for lines in [
        "work.blocks.mix.write = 100",
        "work.blocks.mix.write = 100\nwork.blocks.block = \"1MiB\"",
        "work.blocks.mix.write = 100\ndepth = 32",
        "work.blocks.mix.write = 100\ndepth = 4\nbackend = \"posix-aio\"",
        "work.blocks.mix.write = 100\nbackend = \"mmap\"",
        "work.blocks.mix = { read = 50, write = 50 }\ndepth = 8",
        "work.blocks.mix = { read = 50, write = 50 }\nrun-as = \"process\"",
    ] {
        let mut found = Vec::new();
        let mut spy = Spy::at_end(|_, targets| found = std::fs::read(targets[0].path).unwrap());
        place.watch(&format!("{FILE}{lines}\n"), &mut spy);
        drop(spy);
        assert_eq!(found.len(), 4 << 20);
        assert_eq!(repeated(&found, &mut HashSet::new()), 0, "{lines}");
        assert!(compressed_share(&found) > 0.999, "{lines}: {}", compressed_share(&found));
    }
}

fn files_below(directory: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![std::fs::read(path).unwrap()] })
        .collect()
}

#[test]
fn no_sector_of_a_file_set_repeats() {
    let place = Place::new();
    let text = r#"
        name = "random-files"
        [target.set.tree]
        path = "set"
        files = 200
        size = "10KiB"
        preallocated-percent = 20
        [[phase]]
        name = "create"
        [[phase.workers]]
        target = "set"
        count = 2
        limit.passes = 40
        work.program.steps = ["create", "write-whole", "close", { open = { file = "random" } }, "read-whole", "close"]
    "#;
    let mut found = Vec::new();
    let mut spy = Spy::at_end(|_, targets| found = files_below(targets[0].path));
    let measurement = place.watch(text, &mut spy);
    drop(spy);
    let mut seen = HashSet::new();
    assert!(found.len() > 100);
    assert_eq!(found.iter().map(|file| repeated(file, &mut seen)).sum::<usize>(), 0);
    assert!(compressed_share(&found.concat()) > 0.999);
    assert!(measurement.phases[0].workers.iter().all(|worker| worker.fill_ns > 0), "the cost of content is measured");
}
