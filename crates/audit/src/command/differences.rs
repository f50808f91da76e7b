//! Finds the fields in which two command lines differ.

use super::shell::{launcher, parts, words};
use super::work::FieldDifference;
use super::{CommandAction, fields};
use std::collections::BTreeMap;

/// Returns the fields in which two command lines differ.
pub(crate) fn differences(first: (&str, &[CommandAction]), second: (&str, &[CommandAction])) -> Vec<FieldDifference> {
    let (commands, others) = (parts(first.0), parts(second.0));
    let measuring = |actions: &[CommandAction]| actions.iter().position(CommandAction::measures);
    let (Some(at), Some(other_at)) = (measuring(first.1), measuring(second.1)) else {
        return by_words(first.0, second.0);
    };
    let mut found = compare_actions(&first.1[at], &second.1[other_at]).unwrap_or_else(|| {
        let line = |parts: &[&str], at: usize| parts.get(at).map_or(String::new(), |part| (*part).to_owned());
        by_words(&line(&commands, at), &line(&others, other_at))
    });
    let around = |parts: &[&str], at: usize| {
        let rest: Vec<&str> =
            parts.iter().enumerate().filter(|(number, _)| *number != at).map(|(_, part)| *part).collect();
        rest.join("; ")
    };
    let (before, before_other) = (around(&commands, at), around(&others, other_at));
    if !by_words(&before, &before_other).is_empty() {
        let shown = |words: String| if words.is_empty() { "none".to_owned() } else { words };
        found.push(FieldDifference::new("commands around it", &[], shown(before), shown(before_other)));
    }
    let launcher_at = |parts: &[&str], at: usize| parts.get(at).map_or(String::new(), |part| launcher(part));
    let (launched, launched_other) = (launcher_at(&commands, at), launcher_at(&others, other_at));
    if launched != launched_other {
        let shown = |words: String| if words.is_empty() { "nothing".to_owned() } else { words };
        let subjects = ["cpu", "cpus", "priority", "nice", "numa"];
        found.push(FieldDifference::new("launcher", &subjects, shown(launched), shown(launched_other)));
    }
    found
}

/// Compares the work of two commands of one program; `None` if one of them cannot be lowered.
fn compare_actions(first: &CommandAction, second: &CommandAction) -> Option<Vec<FieldDifference>> {
    if first.program() != second.program() {
        return Some(compare_programs(first, second));
    }
    if let (CommandAction::Postmark(one), CommandAction::Postmark(other)) = (first, second) {
        return (one.settings == other.settings).then(Vec::new);
    }
    match (first.work(), second.work()) {
        (Some(one), Some(other)) => Some(with_amounts(one.differences(&other), first, second)),
        _ => match (first, second) {
            (CommandAction::Fio(one), CommandAction::Fio(other)) => Some(one.given_differences(other)),
            _ => None,
        },
    }
}

/// Replaces amounts in blocks with bytes if the commands state them: counts of blocks depend on the block size.
fn with_amounts(
    mut differences: Vec<FieldDifference>,
    first: &CommandAction,
    second: &CommandAction,
) -> Vec<FieldDifference> {
    if let (Some(one), Some(other)) = (first.set_bytes(), second.set_bytes()) {
        differences.retain(|found| one != other || found.field != fields::AMOUNT);
        for found in differences.iter_mut().filter(|found| found.field == fields::AMOUNT) {
            found.values = [one, other].map(plumb_trust::text::bytes_exact);
        }
    }
    differences
}

/// Compares commands of two programs by the few facts that all commands have.
fn compare_programs(first: &CommandAction, second: &CommandAction) -> Vec<FieldDifference> {
    let mut found = vec![FieldDifference::new(
        "program",
        &["tool", "benchmark"],
        first.program().to_owned(),
        second.program().to_owned(),
    )];
    let mut push = |field: &str, key: &str, first: Option<String>, second: Option<String>| {
        if let (Some(first), Some(second)) = (first, second)
            && first != second
        {
            found.push(FieldDifference::new(field, fields::named(&[key.to_owned()]).1, first, second));
        }
    };
    let size = |bytes: Option<u64>| bytes.map(plumb_trust::text::bytes_exact);
    push("block size", "block", size(first.block_bytes()), size(second.block_bytes()));
    push(fields::AMOUNT, "lengths", size(first.set_bytes()), size(second.set_bytes()));
    let durability = |action: &CommandAction| action.durability().map(|rule| rule.words().to_owned());
    push("flushes", "syncs", durability(first), durability(second));
    let yields = |action: &CommandAction| {
        let names: Vec<&str> = action.yields().into_iter().map(plumb_result::CellMetric::name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    push("access pattern", "pattern", yields(first), yields(second));
    found
}

/// Returns the options of a line by key: `--threads=4`, `threads=4` and `--threads 4` all give `threads` with a value.
fn options(line: &str) -> Vec<(String, String)> {
    let place = |word: &str| if word.contains('/') { "a path".to_owned() } else { word.to_owned() };
    let mut found: Vec<(String, String)> = Vec::new();
    let mut words = words(line).into_iter().peekable();
    while let Some(word) = words.next() {
        let is_option = word.starts_with('-');
        let key = word.trim_start_matches('-');
        match key.split_once('=') {
            Some((key, value)) => found.push((key.to_owned(), place(value))),
            None if is_option => {
                let value = words.next_if(|next| !next.starts_with('-'));
                found.push((key.to_owned(), value.map_or(String::new(), |value| place(&value))));
            }
            None => found.push((String::new(), place(&word))),
        }
    }
    found
}

/// Compares two printed lines by their options; all paths count as equal.
fn by_words(first: &str, second: &str) -> Vec<FieldDifference> {
    let (first, second) = (options(first), options(second));
    let by_key = |options: &[(String, String)]| {
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in options {
            match keys.get_mut(key) {
                Some(values) => values.push(value.clone()),
                None => drop(keys.insert(key.clone(), vec![value.clone()])),
            }
        }
        keys
    };
    let (one, other) = (by_key(&first), by_key(&second));
    let mut found = Vec::new();
    for key in std::collections::BTreeSet::from_iter(one.keys().chain(other.keys())) {
        let (mine, theirs) = (one.get(key), other.get(key));
        if mine == theirs {
            continue;
        }
        let shown = |values: Option<&Vec<String>>| match values {
            None => "not given".to_owned(),
            Some(values) => match values.join(" ") {
                text if text.is_empty() => "given".to_owned(),
                text => text,
            },
        };
        let field = if key.is_empty() { "words of the command".to_owned() } else { format!("option {key}") };
        found.push(FieldDifference::new(field, &[key], shown(mine), shown(theirs)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(first: &str, second: &str) -> Vec<String> {
        let (one, other) = (super::super::read(first), super::super::read(second));
        let found = differences((first, &one), (second, &other));
        found.into_iter().map(|found| format!("{} ({} | {})", found.field, found.values[0], found.values[1])).collect()
    }

    #[track_caller]
    fn assert_differs(line: &str, from: &str, to: &str, expected: &[&str]) {
        assert!(line.contains(from), "{from}");
        assert_eq!(fields(line, &line.replace(from, to)), expected, "{from} → {to}");
    }

    const FIO: &str = "fio --name=w --filename=/mnt/a/f --rw=write --bs=128k --size=64g --ioengine=libaio --iodepth=8 \
                       --direct=1 --runtime=120 --time_based --end_fsync=1";

    // Protects: each field of fio's work is named in plain words, with both values.
    #[test]
    fn fields_of_fio_are_named() {
        assert_differs(FIO, "--iodepth=8", "--iodepth=32", &["queue depth (8 | 32)"]);
        assert_differs(FIO, "--bs=128k", "--bs=4k", &["block size (128KiB | 4KiB)"]);
        assert_differs(FIO, "--direct=1", "--direct=0", &["direct I/O (yes | no)"]);
        assert_differs(FIO, "--runtime=120", "--runtime=10", &["run time (2min | 10s)"]);
        assert_differs(FIO, "--ioengine=libaio", "--ioengine=io_uring", &["I/O engine (libaio | io-uring)"]);
        assert_differs(FIO, "--rw=write", "--rw=randwrite", &["access pattern (sequential | random)"]);
        assert_differs(FIO, "--size=64g", "--size=8g", &["amount of data (64 GiB | 8 GiB)"]);
        assert_differs(FIO, "--end_fsync=1", "", &["flushes (yes | no)"]);
        assert_differs(FIO, "--end_fsync=1", "--end_fsync=1 --numjobs=4", &["number of jobs (1 | 4)"]);
        assert_differs(FIO, "--end_fsync=1", "--end_fsync=1 --zero_buffers", &["data content (random | zeros)"]);
        assert_differs(FIO, "--end_fsync=1", "--end_fsync=1 --rate=10m", &["rate limit (not set | 10485760/s)"]);
    }

    // Protects: names, places and output files, which every side has its own of, are not differences.
    #[test]
    fn names_and_places_are_not_work() {
        assert_eq!(fields(FIO, &FIO.replace("/mnt/a/f", "/mnt/b/g")), [] as [&str; 0]);
        assert_eq!(fields(FIO, &FIO.replace("--name=w", "--name=xfs-write --output=xfs.json")), [] as [&str; 0]);
        let units = "fio --name=w --filename=/mnt/a/f --rw=write --bs=131072 --size=64G --ioengine=libaio --iodepth=8 \
                     --buffered=0 --runtime=2m --time_based --end_fsync=1";
        assert_eq!(fields(FIO, units), [] as [&str; 0], "the same work, spelled differently");
        let dd = "dd if=/mnt/src/r of=/mnt/a/f bs=1M count=4096 conv=fsync";
        assert_eq!(fields(dd, "dd of=/mnt/b/f if=/mnt/src/r bs=1048576 count=4096 conv=fsync"), [] as [&str; 0]);
    }

    #[test]
    fn fields_of_other_tools_are_named() {
        let dd = "dd if=/mnt/src/r of=/mnt/a/f bs=1M count=4096 conv=fsync";
        assert_differs(dd, "if=/mnt/src/r", "if=/dev/zero", &["data source (a file | zeros)"]);
        assert_differs(dd, "conv=fsync", "oflag=direct", &["flushes (yes | no)", "direct I/O (no | yes)"]);
        assert_differs(dd, "count=4096", "count=512", &["amount of data (4 GiB | 512 MiB)"]);
        assert_differs(dd, "bs=1M count=4096", "bs=4M count=1024", &["block size (1MiB | 4MiB)"]);
        assert_differs(dd, "of=/mnt/a/f", "of=/dev/sdb", &["kind of target (a file | a device)"]);
        let iozone = "iozone -s 16g -r 1m -i 0 -e -f /mnt/a/f";
        assert_differs(iozone, "-r 1m", "-r 4k", &["block size (1MiB | 4KiB)"]);
        let bonnie = "bonnie++ -d /mnt/a -s 32g -n 0 -u root";
        assert_differs(bonnie, "-s 32g", "-s 8g", &["amount of data (32 GiB | 8 GiB)"]);
        let elbencho = "elbencho -w -b 1m -t 4 -s 8g --direct /mnt/a/f";
        assert_differs(elbencho, "-t 4", "-t 16", &["number of jobs (4 | 16)"]);
        assert_differs("sysbench fileio --threads=4 run", "4", "16", &["option threads (4 | 16)"]);
        assert_differs(
            "sysbench fileio --threads=4 run",
            "run",
            "prepare",
            &["words of the command (sysbench fileio run | sysbench fileio prepare)"],
        );
    }

    #[test]
    fn launchers_and_surrounding_commands_are_compared() {
        assert_eq!(fields(FIO, &format!("taskset -c 0 {FIO}")), ["launcher (nothing | taskset -c 0)"]);
        let dropped = format!("echo 3 > /proc/sys/vm/drop_caches; {FIO}");
        assert_eq!(fields(FIO, &dropped), ["commands around it (none | echo 3 > /proc/sys/vm/drop_caches)"]);
        let programs =
            fields("dd if=/dev/zero of=/mnt/f bs=1M count=1024", "fio --name=w --rw=write --bs=4k --size=1g");
        assert!(programs.contains(&"program (dd | fio)".to_owned()), "{programs:?}");
        assert!(programs.contains(&"block size (1 MiB | 4 KiB)".to_owned()), "{programs:?}");
    }

    // Protects: a printed line cannot make an audit allocate without bounds.
    #[test]
    fn huge_commands_are_compared_by_their_words() {
        let huge = format!("{FIO} --numjobs=1000000");
        assert_eq!(fields(&huge, &huge), [] as [&str; 0]);
        assert_eq!(fields(FIO, &huge), ["option numjobs (not given | 1000000)"]);
        let files = "bonnie++ -d /mnt/a -s 1g -n 100000000 -u root";
        assert_eq!(fields(files, files), [] as [&str; 0]);
    }
}
