//! What a tool's command costs that hardly does anything: scripts call dd a thousand times. The tool itself and Plumb in its
//! place, in turn, as whole commands.

use super::Options;
use super::plumb::Plumb;
use super::rounds::{Bar, median};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The median of so many tells 10 ms from 11 on a machine with neighbours.
const ROUNDS: usize = 41;

/// A command line that hardly does anything.
struct Case {
    tool: &'static str,
    words: &'static [&'static str],
    /// On standard input.
    input: &'static str,
    /// What Plumb may take, ms.
    bar: Bar,
}

const CASES: &[Case] = &[
    Case { tool: "dd", words: &["if=/dev/zero", "of=block", "bs=4k", "count=1"], input: "", bar: Bar::AtMost(10.0) },
    Case {
        tool: "fio",
        words: &["--name=nothing", "--ioengine=null", "--rw=read", "--bs=4k", "--size=4k"],
        input: "",
        bar: Bar::AtMost(15.0),
    },
    Case {
        tool: "iozone",
        words: &["-s", "64k", "-r", "4k", "-i", "0", "-w", "-f", "small"],
        input: "",
        bar: Bar::Shown,
    },
    Case { tool: "postmark", words: &[], input: "set number 10\nset transactions 10\nrun\nquit\n", bar: Bar::Shown },
];

/// Times the commands, and prints milliseconds and ratios.
///
/// # Errors
/// A command fails, or cannot be started.
pub fn start(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let rounds = options.rounds_or(ROUNDS);
    let folder = tempfile::tempdir()?;
    println!("medians of {rounds} whole commands in turn, in {}", folder.path().display());
    // Each in its own: Plumb writes to no file that another program filled.
    let folders = [folder.path().join("plumb"), folder.path().join("tool")];
    folders.iter().try_for_each(fs::create_dir)?;
    println!(
        "{:10}  {:>9}  {:>9}  {:>9}  {:>9}  {:>7}  bar",
        "command", "plumb", "its least", "its CPU", "the tool", "ratio"
    );
    for case in CASES.iter().filter(|case| options.wants(case.tool)) {
        if which(case.tool).is_none() {
            println!("{:10}  {} is not installed: skipped", case.tool, case.tool);
            continue;
        }
        let (mut own, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut cpu_ms = 0.0;
        let mut turn = |is_own: bool| -> Result<f64> {
            let (command, folder) = match is_own {
                true => (plumb.as_tool(case.tool), &folders[0]),
                false => (Command::new(case.tool), &folders[1]),
            };
            let before = children_cpu_ms()?;
            let ms = timed(command, case, folder)?;
            if is_own {
                cpu_ms += children_cpu_ms()? - before;
            }
            Ok(ms)
        };
        // The first of each makes the store, and brings the programs into memory.
        for is_own in [true, false] {
            turn(is_own)?;
        }
        for round in 0..rounds {
            let order = if round % 2 == 0 { [true, false] } else { [false, true] };
            for is_own in order {
                let ms = turn(is_own)?;
                if is_own { &mut own } else { &mut others }.push(ms);
            }
            ratios.push(own[round] / others[round]);
        }
        // What neighbours take is never given back: the shortest run has the least of it.
        let least = own.iter().copied().fold(f64::INFINITY, f64::min);
        let (own, other, ratio) = (median(own.into_iter()), median(others.into_iter()), median(ratios.into_iter()));
        println!(
            "{:10}  {own:6.2} ms  {least:6.2} ms  {:6.2} ms  {other:6.2} ms  {ratio:6.2}×  {}",
            case.tool,
            cpu_ms / (rounds + 1) as f64,
            case.bar.says(own)
        );
    }
    Ok(())
}

/// How long a command takes from before it is started until it has been waited for, ms.
fn timed(mut command: Command, case: &Case, folder: &Path) -> Result<f64> {
    command.args(case.words).current_dir(folder).env("XDG_DATA_HOME", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(case.input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(ms)
}

/// Processor time of all children that were waited for, ms: `cutime` and `cstime` of proc_pid_stat(5), in ticks of 10 ms, so that
/// only the sum over many is exact.
fn children_cpu_ms() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let ticks = fields.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
    Ok(ticks * 1000.0 / rustix::param::clock_ticks_per_second() as f64)
}

fn which(tool: &str) -> Option<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(tool)).find(|file| file.is_file())
}
