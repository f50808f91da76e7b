//! The same seed yields the same ops, in threads and in processes.

use super::common::*;
use std::collections::BTreeSet;

fn text(seed: u64, lines: &str) -> String {
    format!(
        r#"
        name = "seeds"
        seed = {seed}
        [target.data.file]
        path = "data"
        size = "4MiB"
        prepare = "sparse"
        content = {{ byte = 1 }}
        [[phase]]
        name = "write"
        [[phase.workers]]
        target = "data"
        limit.ops = 100
        work.blocks.mix = {{ read = 0, write = 1 }}
        {lines}
        "#
    )
}

fn written(place: &Place, text: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let mut spy = Spy::at_end(|_, targets| content = std::fs::read(targets[0].path).unwrap());
    place.watch(text, &mut spy);
    drop(spy);
    content
}

/// Returns the numbers of the 512-byte blocks that were written.
fn blocks(content: &[u8]) -> BTreeSet<usize> {
    content.chunks(512).enumerate().filter(|(_, block)| block.iter().any(|byte| *byte != 0)).map(|(at, _)| at).collect()
}

const PATTERNS: &[&str] = &[
    "\"random\"",
    "\"permutation\"",
    "{ zipf = { theta = 0.9 } }",
    "{ pareto = { h = 0.8 } }",
    "{ normal = { deviation = 0.1 } }",
    "{ zoned = [{ access-percent = 70.0, span-percent = 10.0 }, { access-percent = 30.0, span-percent = 90.0 }] }",
];

#[test]
fn the_same_seed_gives_the_same_ops_and_another_seed_others() {
    let place = Place::new();
    for pattern in PATTERNS {
        for block in ["\"4KiB\"", "{ range = { min = \"512\", max = \"8KiB\" } }"] {
            let lines = format!("work.blocks.pattern = {pattern}\nwork.blocks.block = {block}");
            let first = written(&place, &text(7, &lines));
            assert!(!blocks(&first).is_empty());
            assert!(first == written(&place, &text(7, &lines)), "{lines}");
            assert!(first != written(&place, &text(8, &lines)), "{lines}: another seed");
            for manner in ["run-as = \"process\"", "backend = \"mmap\"", "backend = \"stdio\"", "depth = 8"] {
                assert!(first == written(&place, &text(7, &format!("{lines}\n{manner}"))), "{lines} {manner}");
            }
        }
    }
}

#[test]
fn each_worker_has_its_own_stream() {
    let place = Place::new();
    let one = blocks(&written(&place, &text(7, "work.blocks.pattern = \"random\"")));
    let two = blocks(&written(&place, &text(7, "work.blocks.pattern = \"random\"\ncount = 2")));
    assert!(
        one.iter().all(|block| two.contains(block)) && two.len() > one.len() * 3 / 2,
        "{} and {}",
        one.len(),
        two.len()
    );
}

#[test]
fn content_changes_between_runs_but_ops_do_not() {
    let mut place = Place::new();
    let random = text(7, "work.blocks.pattern = \"random\"").replace("{ byte = 1 }", "\"random\"");
    let first = written(&place, &random);
    assert!(first == written(&place, &random), "the same seeds, the same bytes");
    assert!(
        first == written(&place, &random.replace("limit.ops", "run-as = \"process\"\nlimit.ops")),
        "also in a process"
    );
    place.content_seed = 1;
    let second = written(&place, &random);
    assert_eq!(blocks(&first), blocks(&second), "the same blocks are written");
    let same = first.chunks(512).zip(second.chunks(512)).filter(|(a, b)| a == b && a.iter().any(|byte| *byte != 0));
    assert_eq!(same.count(), 0, "no content is repeated, so no layer can deduplicate two runs");
}

#[test]
fn a_phase_draws_its_own_ops() {
    let place = Place::new();
    let mut contents = Vec::new();
    let mut spy = Spy::at_end(|_, targets| contents.push(blocks(&std::fs::read(targets[0].path).unwrap())));
    let one = text(7, "work.blocks.pattern = \"random\"");
    let phase = &one[one.find("[[phase]]").unwrap()..];
    place.watch(&format!("{one}\n{}", phase.replace("\"write\"", "\"again\"")), &mut spy);
    drop(spy);
    assert!(contents[1].len() > contents[0].len() * 3 / 2, "the second phase writes other blocks");
}
