//! Lines of `-v`: the options, and the time and rate of each test after its iteration.
//!
//! Omits the lines in which mdtest traces its own functions ("Entering …").

use super::result::{IterationResult, Test};
use super::settings::MdtestSettings;

fn line(text: &str) -> String {
    format!("V-1: Rank   0 Line     0 {text}\n")
}

/// Formats the options, which follow the command line.
pub(super) fn options(settings: &MdtestSettings) -> String {
    if settings.output.verbosity == 0 {
        return String::new();
    }
    let truth = |is: bool| if is { "True" } else { "False" }.to_owned();
    let [create_only, stat_only, read_only] =
        [settings.phases.creates, settings.phases.stats, settings.phases.reads].map(&truth);
    let (first, last, stride) = settings.tasks;
    let mut text = line(&format!("api                     : {}", settings.dummy.map_or("POSIX", |_| "DUMMY")));
    text.push_str(&line("barriers                : True"));
    text.push_str(&line(&format!("collective_creates      : {}", truth(settings.order.collective))));
    text.push_str(&line(&format!("create_only             : {create_only}")));
    text.push_str(&line("dirpath(s):"));
    text.extend(settings.tree.directories.iter().map(|directory| line(&format!("\t{directory}"))));
    for (name, value) in [
        ("dirs_only", truth(settings.tree.directories_too && !settings.tree.files_too)),
        ("read_bytes", settings.data.read_bytes.to_string()),
        ("read_only", read_only),
        ("first", first.to_string()),
        ("files_only", truth(settings.tree.files_too && !settings.tree.directories_too)),
        ("iterations", settings.repetition.iterations.to_string()),
        ("items_per_dir", settings.tree.per_directory.to_string()),
        ("last", last.to_string()),
        ("leaf_only", truth(settings.tree.leaves_only)),
        ("items", settings.tree.items.to_string()),
        ("nstride", settings.order.stride.to_string()),
        ("pre_delay", settings.repetition.delay_s.to_string()),
        ("remove_only", truth(settings.phases.removes)),
        ("random_seed", settings.order.random_seed.unwrap_or(0).to_string()),
        ("stride", stride.to_string()),
        ("shared_file", truth(settings.order.shared)),
        ("stone_wall_timer_seconds", settings.stonewall.wall_s.to_string()),
        ("stat_only", stat_only),
        ("unique_dir_per_task", truth(settings.order.unique)),
        ("write_bytes", settings.data.write_bytes.to_string()),
        ("sync_file", truth(settings.data.flushes_files)),
        ("call_sync", truth(settings.data.syncs)),
        ("depth", settings.tree.depth.to_string()),
        ("make_node", u8::from(settings.tree.makes_nodes).to_string()),
    ] {
        text.push_str(&line(&format!("{name:<24}: {value}")));
    }
    text
}

/// Formats times and rates of an iteration's tests.
pub fn results(settings: &MdtestSettings, result: &IterationResult, iteration: u32) -> String {
    if settings.output.verbosity == 0 {
        return String::new();
    }
    let mut text = String::new();
    if iteration == 0 {
        text.push_str(&line(""));
        text.push_str(&line("   Operation               Duration              Rate"));
        text.push_str(&line("   ---------               --------              ----"));
    }
    text.push_str(&line(&format!("main: * iteration {} *", iteration + 1)));
    let of = |name: &str, test: Test| {
        let (seconds, rate) = result.test(test).map_or((0.0, 0.0), |test| (test.time_ns as f64 / 1e9, test.rate()));
        line(&format!("{name}: {seconds:>14.3} sec, {rate:>14.3} ops/sec"))
    };
    if settings.phases.creates {
        text.push_str(&of("V-1: main:   Tree creation     ", Test::TreeCreation));
    }
    if settings.tree.directories_too {
        for (name, test) in [
            ("   Directory creation", Test::DirectoryCreation),
            ("   Directory stat    ", Test::DirectoryStat),
            ("   Directory rename ", Test::DirectoryRename),
            ("   Directory removal ", Test::DirectoryRemoval),
        ] {
            text.push_str(&of(name, test));
        }
    }
    if settings.tree.files_too {
        for (name, test) in [
            ("  File creation     ", Test::FileCreation),
            ("  File stat         ", Test::FileStat),
            ("  File read         ", Test::FileRead),
            ("  File removal      ", Test::FileRemoval),
        ] {
            text.push_str(&of(name, test));
        }
    }
    if settings.phases.removes {
        text.push_str(&of("main   Tree removal      ", Test::TreeRemoval));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mdtest::{Invocation, print, read};
    use plumb_result::measurement::OpMeasurement;
    use plumb_result::{PhaseMeasurement, WorkerMeasurement};
    use plumb_workload::OpKind;
    use std::collections::BTreeMap;

    fn settings(line: &str) -> MdtestSettings {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match read(&words, None) {
            Ok(Invocation::Run(settings, _)) => *settings,
            other => panic!("{line}: {other:?}"),
        }
    }

    // Protects mdtest's verbosity: values of each iteration from `-v` on, and nothing without it.
    #[test]
    fn figures_of_iterations_are_printed_from_the_first_level_on() {
        let mut result = IterationResult::default();
        assert_eq!(results(&settings("-n 2"), &result, 0) + &options(&settings("-n 2")), "");
        let made = OpMeasurement { count: 2000, ..OpMeasurement::default() };
        let worker =
            WorkerMeasurement { ops: BTreeMap::from([(OpKind::Create, made)]), ..WorkerMeasurement::default() };
        let phase = PhaseMeasurement {
            name: Test::FileCreation.phase().to_owned(),
            wall_ns: 500_000_000,
            workers: vec![worker],
            ..PhaseMeasurement::default()
        };
        result.add(&phase, 1);
        let one = settings("-v -v -n 2 -F -C -u -d a@b --plumb-ranks 2");
        let head = print::head(&one, &["mdtest".to_owned()], "now");
        for printed in
            ["api                     : POSIX", "\tb", "files_only              : True", "items                   : 2"]
        {
            assert!(head.contains(&line(printed)), "{printed}: {head}");
        }
        let printed = results(&one, &result, 1);
        assert!(printed.starts_with("V-1: Rank   0 Line     0 main: * iteration 2 *\n"), "{printed}");
        let creation = "  File creation     :          0.500 sec,       4000.000 ops/sec";
        assert!(printed.contains(&line(creation)) && !printed.contains("Directory"), "{printed}");
    }
}
