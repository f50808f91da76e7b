//! `plumb as zcav`: the speed of a device from start to end.

use super::user::KeptStore;
use super::{run, user};
use jiff::{SignedDuration, Zoned};
use plumb_bench::{Bench, Progress};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line, error_text};
use plumb_engine::LoggedOp;
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_result::PhaseMeasurement;
use plumb_tools_classic::bonnie::Refusal;
use plumb_tools_classic::bonnie::zcav::print::{self, ZcavTimes};
use plumb_tools_classic::bonnie::zcav::{ZcavBlocks, ZcavDevice, ZcavSettings, lower};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, refuse};
use plumb_tools_run::simulated;
use plumb_workload::{OpKind, Workload};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::time::Duration;

/// Exit code for a device smaller than one block.
const TOO_SMALL: u8 = 2;
/// Time to cancel before a device is overwritten.
const BEFORE_WRITING: Duration = Duration::from_secs(5);

/// Measures devices from start to end. Errors go to standard error, with exit code 1.
pub struct Zcav {
    settings: ZcavSettings,
    plans: Vec<ZcavBlocks>,
    kept: KeptStore,
}

impl Dialect for Zcav {
    const NAME: &'static str = "zcav";
    type Run = Workload;
    type Listener<'a> = ZcavProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Zcav> {
        let (settings, plans, kept) = match prepared(call) {
            Ok(prepared) => prepared,
            Err(Refusal(text)) => return refuse(&text),
        };
        if let Some(small) = plans.iter().position(|plan| plan.blocks.is_empty()) {
            output::print(&print::device(&settings, &plans[small], &[]));
            error_line!("Data file/device \"{}\" too small.", settings.devices[small].path);
            return Err(End::DialectCode(TOO_SMALL).into());
        }
        if let Some(correction) = settings.correction() {
            error_line!("plumb: {correction}; `--compat=strict` counts as the tool does");
        }
        Ok(Zcav { settings, plans, kept })
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Workload> {
        Ok(lower::lower(&self.settings, &self.plans))
    }

    fn bench(&self, common: &Common) -> Result<Bench, Stopped> {
        self.kept.bench(common)
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load::here(run)
    }

    fn listen<'a>(&'a self, _run: &'a Workload, _bench: &mut Bench) -> Step<ZcavProgress<'a>> {
        // A simulated device has no data to lose.
        let real = |device: &&ZcavDevice| !simulated::is_named(&device.path);
        if self.settings.writes && self.settings.devices.iter().any(|device| real(&device)) {
            for device in &self.settings.devices {
                error_line!("Warning, writing to {} in {} seconds.", device.path, BEFORE_WRITING.as_secs());
            }
            std::thread::sleep(BEFORE_WRITING);
        }
        let times = vec![ZcavTimes::default(); self.plans.len()];
        let (settings, plans) = (&self.settings, self.plans.as_slice());
        Ok(ZcavProgress { settings, plans, times, began: Zoned::now(), refused: None })
    }

    fn print<'a>(&'a self, _run: &'a Workload, watching: ZcavProgress<'a>, ended: &RunEnded) -> Step<()> {
        let ZcavProgress { times, refused, .. } = watching;
        for ((device, plan), times) in self.settings.devices.iter().zip(&self.plans).zip(&times) {
            let text = print::device(&self.settings, plan, times.loops());
            match &device.log {
                None => output::print(&text),
                Some(path) => {
                    OutputFile::named("-l", path).write(text.as_bytes()).map_err(Stopped::from)?;
                }
            }
        }
        Err(run::stopped(ended, refused).unwrap_or(End::Done).into())
    }
}

fn prepared(call: &ToolCall<'_>) -> Result<(ZcavSettings, Vec<ZcavBlocks>, KeptStore), Refusal> {
    let ToolCall { called, words, common, .. } = *call;
    let mut kept = KeptStore::default();
    let settings = ZcavSettings::read(called, words)?;
    if settings.user.is_some() || settings.group.is_some() {
        let became = user::become_user(settings.user.as_deref(), settings.group.as_deref(), common)?;
        error_text!("{}", became.message);
        kept = became.kept;
    }
    let plan = |device: &ZcavDevice| {
        let simulated = simulated::device_bytes(&device.path).map_err(|error| Refusal(format!("{error}\n")))?;
        if let Some(bytes) = simulated {
            return Ok(ZcavBlocks::new(&settings, bytes));
        }
        // Check access only: the write guard opens the device for writing later.
        let may_write = || {
            let (access, flags) = (rustix::fs::Access::WRITE_OK, rustix::fs::AtFlags::EACCESS);
            rustix::fs::accessat(rustix::fs::CWD, device.file(), access, flags).map_err(std::io::Error::from)
        };
        let permitted = if settings.writes { may_write() } else { Ok(()) };
        let mut file = permitted
            .and_then(|()| File::open(device.file()))
            .map_err(|_| Refusal(format!("Can't open {}\n", device.path)))?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(|_| Refusal("Can't lseek().\n".to_owned()))?;
        Ok(ZcavBlocks::new(&settings, bytes))
    };
    let plans: Result<Vec<ZcavBlocks>, Refusal> = settings.devices.iter().map(plan).collect();
    let plans = plans?;
    Ok((settings, plans, kept))
}

/// Collects the times of blocks and reports finished loops.
pub struct ZcavProgress<'a> {
    settings: &'a ZcavSettings,
    plans: &'a [ZcavBlocks],
    times: Vec<ZcavTimes>,
    began: Zoned,
    refused: Option<String>,
}

impl Progress for ZcavProgress<'_> {
    fn clock_starts(&mut self, _phase: &str) {
        self.began = Zoned::now();
    }

    fn op_log(&mut self, _phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        // `GROUP/NUMBER`.
        let group = worker.split('/').next().unwrap_or(worker);
        let Some(number) = (0..self.plans.len()).find(|&number| lower::worker(number) == group) else { return };
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
            let plan = &self.plans[number];
            if self.times[number].add(self.settings, plan, bytes, from_ns, op.complete_ns) {
                loops += 1;
                let after = SignedDuration::from_nanos(i64::try_from(op.complete_ns).unwrap_or(i64::MAX));
                let at = self.began.checked_add(after).unwrap_or_else(|_| Zoned::now());
                let device = &self.settings.devices[number].path;
                let (hour, minute, second) = (at.hour(), at.minute(), at.second());
                error_line!("# Finished loop {loops}, on device {device} at {hour}:{minute:02}:{second:02}");
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
