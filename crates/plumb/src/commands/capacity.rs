//! `plumb verify-capacity`: checks that storage holds as many bytes as it claims.

use crate::args::CapacityArguments;
use plumb_capacity::{CapacityError, Covered, Direct, Files, FilesError, Medium, Pass, Probe, Progress, Step, Verdict};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::progress::{StatusLine, left_by_share};
use plumb_cli::session;
use plumb_engine::guard::{Guard, IoMode, Refusal};
use plumb_engine::signals::StopFlag;
use plumb_engine::write_guard;
use plumb_report::{Style, format};
use serde::Serialize;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// JSON output of the command.
#[derive(Debug, Serialize)]
struct CapacityReport<'a> {
    path: String,
    claimed_bytes: u64,
    /// Bytes that could be written to.
    covered_bytes: u64,
    /// Whether reads bypassed this machine's page cache.
    direct: bool,
    verdict: &'a str,
    /// Absent where the capacity could not be determined.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds_bytes: Option<u64>,
    probe: Part,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<Part>,
}

/// Bytes checked by the probe or by the full pass.
#[derive(Debug, Serialize)]
struct Part {
    asked_bytes: u64,
    right_bytes: u64,
    zero_bytes: u64,
    elsewhere_bytes: u64,
    old_bytes: u64,
    other_bytes: u64,
    failed_bytes: u64,
    seconds: f64,
}

impl Part {
    fn from_tally(tally: &plumb_capacity::Tally, took: Duration) -> Part {
        Part {
            asked_bytes: tally.asked_bytes(),
            right_bytes: tally.right_bytes,
            zero_bytes: tally.nothing_bytes,
            elsewhere_bytes: tally.elsewhere_bytes,
            old_bytes: tally.old_bytes,
            other_bytes: tally.other_bytes,
            failed_bytes: tally.failed_bytes,
            seconds: took.as_secs_f64(),
        }
    }
}

pub(crate) fn run(arguments: &CapacityArguments, common: &Common) -> Result<End, Stopped> {
    let path = &arguments.path;
    let guard = write_guard(session::permissions(common)?);
    let stop = session::stop_flag()?;
    let kind = std::fs::metadata(path).map_err(|error| Stopped::usage(format!("{}: {error}", path.display())))?;
    if kind.file_type().is_block_device() {
        let mut device = device(&guard, path)?;
        let covered = Covered { bytes: device.bytes(), of_bytes: device.bytes() };
        let direct = device.is_direct();
        return checked(&mut device, arguments, covered, direct, stop, common);
    }
    if !kind.is_dir() {
        return Err(Stopped::usage(format!("{} is neither a block device nor a directory", path.display())));
    }
    let directory = session::test_dirs()?.create(path, "verify-capacity").map_err(Stopped::io)?;
    let ended = Files::make(&guard, &directory).map_err(stopped).and_then(|mut files| {
        let (covered, direct) = (files.covered(), files.are_direct());
        checked(&mut files, arguments, covered, direct, stop, common)
    });
    directory.remove().map_err(Stopped::io)?;
    ended
}

fn device(guard: &Guard, path: &Path) -> Result<Direct, Stopped> {
    let refused = |refusal: Refusal| Stopped { end: End::Refused, message: refusal.to_string() };
    let file = guard.open_device(path, None, IoMode::Direct).map_err(refused)?;
    let bytes = std::io::Seek::seek(&mut file.file(), std::io::SeekFrom::End(0)).map_err(Stopped::io)?;
    Ok(Direct::new(file, bytes))
}

fn stopped(error: FilesError) -> Stopped {
    let end = match &error {
        FilesError::Refused(_) => End::Refused,
        FilesError::Space { .. } => End::Io,
        FilesError::InMemory { .. } | FilesError::Full { .. } => End::Usage,
    };
    Stopped { end, message: error.to_string() }
}

fn checked(
    medium: &mut dyn Medium,
    arguments: &CapacityArguments,
    covered: Covered,
    direct: bool,
    stop: StopFlag,
    common: &Common,
) -> Result<End, Stopped> {
    let line = StatusLine::on_standard_error();
    // A new seed for each check, so that data of an earlier check is recognised as old.
    let seed = RandomState::new().build_hasher().finish();
    line.say("checking a few blocks".to_owned());
    let found = plumb_capacity::probe(medium, seed, &mut || !stop.requested());
    let Some(probe) = uninterrupted(found, &line)? else { return Ok(End::Interrupted) };
    let whole = if arguments.quick || probe.verdict != Verdict::Holds {
        None
    } else {
        let mut began = (Step::Writing, Instant::now());
        let mut goes_on = |progress: Progress| {
            if progress.step != began.0 {
                began = (progress.step, Instant::now());
            }
            let (done, total) = (progress.done_bytes as f64, progress.total_bytes as f64);
            let then = if progress.step == Step::Writing { ", then reading back" } else { "" };
            line.say(format!("{}{}{then}", progress_text(&progress), left_by_share(began.1, done, total)));
            !stop.requested()
        };
        match uninterrupted(plumb_capacity::check(medium, seed.wrapping_add(1), &mut goes_on), &line)? {
            Some(pass) => Some(pass),
            None => return Ok(End::Interrupted),
        }
    };
    line.end();
    let verdict = whole.as_ref().map_or(probe.verdict, |pass| pass.tally.verdict());
    if common.json {
        session::print_json(&report(arguments, covered, direct, verdict, &probe, whole.as_ref()))?;
    } else {
        let about = About { path: &arguments.path, covered, direct, verdict };
        output::print(&page(&about, &probe, whole.as_ref(), &session::style()));
    }
    Ok(if verdict == Verdict::Holds { End::Done } else { End::AssertedFalse })
}

/// Returns `None` after an interruption, and prints a message.
fn uninterrupted<T>(found: Result<T, CapacityError>, line: &StatusLine) -> Result<Option<T>, Stopped> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(CapacityError::Interrupted) => {
            line.end();
            error_line!("interrupted: blocks that were not read back are unverified");
            Ok(None)
        }
        Err(error @ CapacityError::TooSmall { .. }) => Err(Stopped::usage(error)),
        Err(error @ CapacityError::Flush(_)) => Err(Stopped::io(error)),
    }
}

fn progress_text(progress: &Progress) -> String {
    let verb = match progress.step {
        Step::Writing => "writing",
        Step::Reading => "reading back",
    };
    let (done, total) = (progress.done_bytes as f64, progress.total_bytes as f64);
    format!("{verb} {} of {}, {}", format::bytes_brief(done), format::bytes_brief(total), format::percent(done / total))
}

fn report<'a>(
    arguments: &CapacityArguments,
    covered: Covered,
    direct: bool,
    verdict: Verdict,
    probe: &Probe,
    whole: Option<&Pass>,
) -> CapacityReport<'a> {
    let (verdict, holds_bytes) = match verdict {
        Verdict::Holds if whole.is_some() => ("holds", Some(covered.bytes)),
        Verdict::Holds => ("nothing found", None),
        Verdict::Wraps { holds_bytes } => ("wraps around", Some(holds_bytes)),
        Verdict::Ends { holds_bytes } => ("ends early", Some(holds_bytes)),
        Verdict::Damaged { .. } => ("damaged", None),
    };
    CapacityReport {
        path: plumb_result::path_text(&arguments.path),
        claimed_bytes: covered.of_bytes,
        covered_bytes: covered.bytes,
        direct,
        verdict,
        holds_bytes,
        probe: Part::from_tally(&probe.tally, probe.took),
        whole: whole.map(|pass| Part::from_tally(&pass.tally, pass.writing + pass.reading)),
    }
}

struct About<'a> {
    path: &'a Path,
    covered: Covered,
    direct: bool,
    verdict: Verdict,
}

fn page(about: &About<'_>, probe: &Probe, whole: Option<&Pass>, style: &Style) -> String {
    let size = |bytes: u64| format::bytes_brief(bytes as f64);
    let exact = |bytes: u64| format!("{} ({bytes} bytes)", size(bytes));
    let took = |took: Duration| format::time_brief(took.as_nanos() as f64);
    let mut page = format!("{}: {}\n", about.path.display(), exact(about.covered.of_bytes));
    let asked = probe.tally.asked_bytes() / plumb_capacity::BLOCK_BYTES;
    let wrong = probe.tally.wrong_bytes() / plumb_capacity::BLOCK_BYTES;
    page.push_str(&format!("  probe      {asked} blocks of 4 KiB in {}, {wrong} of them wrong\n", took(probe.took)));
    if let Some(pass) = whole {
        let tally = &pass.tally;
        page.push_str(&format!("  written    {} in {}\n", size(tally.asked_bytes()), took(pass.writing)));
        page.push_str(&format!("  read back  {} in {}", size(tally.asked_bytes()), took(pass.reading)));
        let kinds = [
            (tally.nothing_bytes, "came back as zeros"),
            (tally.elsewhere_bytes, "belong elsewhere"),
            (tally.old_bytes, "are from an earlier check"),
            (tally.other_bytes, "are other data"),
            (tally.failed_bytes, "could not be written or read"),
        ];
        for (bytes, what) in kinds.into_iter().filter(|(bytes, _)| *bytes > 0) {
            page.push_str(&format!(", {} {what}", size(bytes)));
        }
        page.push('\n');
    }
    let all = about.covered.bytes == about.covered.of_bytes;
    let conclusion = match about.verdict {
        Verdict::Holds if whole.is_none() => {
            "The few blocks that were checked are right. That proves little: without --quick, all of it is checked."
                .to_owned()
        }
        Verdict::Holds if all => {
            format!("It holds what it claims: all {} came back as written.", exact(about.covered.bytes))
        }
        Verdict::Holds => format!("All {} that could be written came back as written.", exact(about.covered.bytes)),
        Verdict::Wraps { holds_bytes } => format!(
            "It holds {} at most: addresses wrap around there, so that later writes destroy earlier ones.",
            exact(holds_bytes)
        ),
        Verdict::Ends { holds_bytes } => {
            format!("It holds {}: writes beyond that are lost.", exact(holds_bytes))
        }
        Verdict::Damaged { wrong_bytes } => {
            format!("It is damaged: {} between good ones did not come back as written.", exact(wrong_bytes))
        }
    };
    page.push_str(&format!("\n{}\n", style.wrap(&conclusion, 0)));
    if !all {
        let uncovered = about.covered.of_bytes - about.covered.bytes;
        let text = format!(
            "Not covered: {}, which is in use or stays free. Only a whole device can be checked whole: unmount it, and name it.",
            exact(uncovered)
        );
        page.push_str(&format!("{}\n", style.wrap(&text, 0)));
    }
    if !about.direct {
        let text = "Reads could not go around this machine's page cache; it was dropped before they began.";
        page.push_str(&format!("{}\n", style.wrap(text, 0)));
    }
    page
}
