//! `plumb as zcav`: the speed of a device from its beginning to its end.

use super::{run, user};
use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use jiff::{SignedDuration, Zoned};
use plumb_dialects::bonnie::Refusal;
use plumb_dialects::bonnie::zcav::print::{self, Times};
use plumb_dialects::bonnie::zcav::{Course, Device, Settings, lower};
use plumb_engine::LoggedOp;
use plumb_result::PhaseMeasurement;
use plumb_study::Progress;
use plumb_workload::OpKind;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// What it ends with where a device has not even one block.
const TOO_SMALL: u8 = 2;
/// Time to think better of it before a device is written to.
const BEFORE_WRITING: Duration = Duration::from_secs(5);

/// As `zcav`: what is wrong goes to standard error, and the code is then 1. `called` is the program's own name.
pub fn as_zcav(called: &str, words: &[String], common: &Common) -> Result<End, Stopped> {
    match prepared(called, words) {
        Ok((settings, courses)) => measured(&settings, &courses, common),
        Err(Refusal(text)) => {
            eprint!("{text}");
            Ok(End::DialectFailed)
        }
    }
}

fn prepared(called: &str, words: &[String]) -> Result<(Settings, Vec<Course>), Refusal> {
    let settings = Settings::read(called, words)?;
    if settings.user.is_some() || settings.group.is_some() {
        eprint!("{}", user::become_user(settings.user.as_deref(), settings.group.as_deref())?);
    }
    let course = |device: &Device| {
        let mut file = match settings.writes {
            true => OpenOptions::new().write(true).open(device.file()),
            false => File::open(device.file()),
        }
        .map_err(|_| Refusal(format!("Can't open {}\n", device.path)))?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(|_| Refusal("Can't lseek().\n".to_owned()))?;
        Ok(Course::new(&settings, bytes))
    };
    let courses: Result<Vec<Course>, Refusal> = settings.devices.iter().map(course).collect();
    let courses = courses?;
    Ok((settings, courses))
}

fn measured(settings: &Settings, courses: &[Course], common: &Common) -> Result<End, Stopped> {
    if let Some(small) = courses.iter().position(|course| course.blocks.is_empty()) {
        session::print(&print::device(settings, &courses[small], &[]))?;
        eprintln!("Data file/device \"{}\" too small.", settings.devices[small].path);
        return Ok(End::DialectCode(TOO_SMALL));
    }
    if let Some(correction) = settings.correction() {
        eprintln!("plumb: {correction}; `--compat=strict` counts as it does");
    }
    let mut bench = session::bench(common)?;
    if settings.writes {
        for device in &settings.devices {
            eprintln!("Warning, writing to {} in {} seconds.", device.path, BEFORE_WRITING.as_secs());
        }
        std::thread::sleep(BEFORE_WRITING);
    }
    let base = Path::new(".");
    let workload = lower::lower(settings, courses);
    let times = vec![Times::default(); courses.len()];
    let mut watching = Watching { settings, courses, times, began: Zoned::now(), refused: None };
    let failed = run::measure(&workload, base, "zcav", &mut bench, &mut watching);
    let Watching { times, refused, .. } = watching;
    for ((device, course), times) in settings.devices.iter().zip(courses).zip(&times) {
        let text = print::device(settings, course, times.loops());
        match &device.log {
            None => session::print(&text)?,
            Some(path) => {
                std::fs::write(path, text).map_err(|error| Stopped::io(format!("{path}: {error}")))?;
            }
        }
    }
    Ok(run::stopped(&bench, [failed, refused]).unwrap_or(End::Done))
}

/// Gathers the times of blocks, and tells when loops ended.
struct Watching<'a> {
    settings: &'a Settings,
    courses: &'a [Course],
    times: Vec<Times>,
    began: Zoned,
    /// The op that failed.
    refused: Option<String>,
}

impl Progress for Watching<'_> {
    fn clock_starts(&mut self, _phase: &str) {
        self.began = Zoned::now();
    }

    fn op_log(&mut self, _phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        // `GROUP/NUMBER`.
        let group = worker.split('/').next().unwrap_or(worker);
        let Some(number) = (0..self.courses.len()).find(|&number| lower::worker(number) == group) else { return };
        let mut written: Option<LoggedOp> = None;
        let mut loops = 0;
        for op in ops {
            let (bytes, from_ns) = match op.kind {
                OpKind::Write => {
                    written = Some(op);
                    continue;
                }
                OpKind::Fsync => match written.take() {
                    Some(write) => (write.result.unwrap_or(0), write.submit_ns),
                    None => continue,
                },
                OpKind::Read => (op.result.unwrap_or(0), op.submit_ns),
                _ => continue,
            };
            let course = &self.courses[number];
            if self.times[number].add(self.settings, course, bytes, from_ns, op.complete_ns) {
                loops += 1;
                let after = SignedDuration::from_nanos(i64::try_from(op.complete_ns).unwrap_or(i64::MAX));
                let at = self.began.checked_add(after).unwrap_or_else(|_| Zoned::now());
                let device = &self.settings.devices[number].path;
                let (hour, minute, second) = (at.hour(), at.minute(), at.second());
                eprintln!("# Finished loop {loops}, on device {device} at {hour}:{minute:02}:{second:02}");
            }
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        if let Some(fault) = measured.faults.first() {
            let text = format!("{} of {}: {}", fault.op.name(), fault.path.display(), fault.message);
            self.refused.get_or_insert(text);
        }
    }
}
