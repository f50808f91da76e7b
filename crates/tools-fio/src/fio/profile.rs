//! `--profile`: jobs that are built into fio. Source: observed in fio 3.42 with `--profile=tiobench` and
//! `--profile=act`.

use super::error::{FioError, Warning, WordLocation};
use super::jobfile::{OptionLine, Section, SectionKind};
use super::options::OptionName;
use super::options::direction::SIZE;
use super::options::job::PROFILE;
use super::options::profiles::{
    BLOCK, DEVICE_NAMES, DIR, LARGE_BLOCK_OP_KBYTES, LOAD, NUMRUNS, PREP, READ_REQ_NUM_512_BLOCKS, TEST_DURATION,
    THREADS, THREADS_PER_QUEUE,
};
use super::value::kind::Bare;
use super::value::{Compat, Doubt, ValueError, ValueReading, plain, time};
use plumb_workload::Nanos;
use std::fmt::Write;

/// Suffix added to the profile's `size` option, which is in MiB.
const SIZE_UNIT: &str = "m";

/// The profile's own options. fio parses them but runs with its defaults anyway; here they take effect.
struct TiobenchOptions {
    size: String,
    block: String,
    runs: String,
    directory: String,
    threads: String,
}

/// The `--profile=act` test, which certifies a device by the share of slow ops in each hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActTest {
    pub duration: Nanos,
}

/// A profile's jobs and test.
pub(super) struct Profile {
    /// Job file text.
    pub jobs: String,
    /// The test that the jobs are judged by.
    pub act: Option<ActTest>,
}

/// Returns a profile's jobs, and removes the profile's own options from the sections of the command line.
///
/// # Errors
///
/// The profile does not exist, or its options are invalid.
pub(super) fn profile(
    name: &str,
    sections: &mut [Section],
    place: &WordLocation,
    compat: Compat,
    warnings: &mut Vec<Warning>,
) -> Result<Profile, Box<FioError>> {
    match name {
        "tiobench" => Ok(Profile { jobs: tiobench(sections), act: None }),
        "act" => ActReader { sections, place, compat, warnings }.profile(),
        other => Err(Box::new(FioError::BadWord {
            place: place.clone(),
            option: "profile",
            text: other.to_owned(),
            reason: format!("profile '{other}' not found; use tiobench or act"),
        })),
    }
}

/// Reads per second of a device at a load of 1.
const ACT_READS: u64 = 2_000;
/// Writes per second of a device at a load of 1, in units of a read's size.
const ACT_WRITES: u64 = 1_000;
/// Unit of read sizes, in bytes.
const ACT_BLOCK_BYTES: u64 = 512;
/// Below this, `large-block-op-kbytes` is in KiB, as its name says. fio reads it as bytes, and its default is in bytes.
const ACT_KIB_BELOW: u64 = 16_384;
/// fio's maximum for these options.
const ACT_COUNT_MAX: u64 = 1 << 20;

/// Parses the command-line options of `--profile=act`.
struct ActReader<'a> {
    sections: &'a mut [Section],
    place: &'a WordLocation,
    compat: Compat,
    warnings: &'a mut Vec<Warning>,
}

impl ActReader<'_> {
    fn profile(mut self) -> Result<Profile, Box<FioError>> {
        let devices = self.take(DEVICE_NAMES.name()).and_then(|(line, _)| line.text).unwrap_or_default();
        let load = self.count(LOAD.name(), 1)?;
        let threads = self.count(THREADS_PER_QUEUE.name(), 8)?;
        let read_bytes = self.count(READ_REQ_NUM_512_BLOCKS.name(), 3)? * ACT_BLOCK_BYTES;
        let write_bytes = self.write_bytes()?;
        let duration = self.duration()?;
        let prepares =
            self.take(PREP.name()).is_some_and(|(line, _)| line.text.as_deref().is_none_or(|text| text != "0"));
        let devices: Vec<&str> = devices.split(',').filter(|device| !device.is_empty()).collect();
        if devices.is_empty() {
            return Err(self.refuse(PROFILE.name(), "act", "set the devices with --device-names=PATH,…"));
        }
        let mut jobs =
            String::from("[global]\ndirect=1\nioengine=sync\nrandom_generator=lfsr\ngroup_reporting=1\nthread\n");
        if prepares {
            for device in devices {
                // The second job of each pair waits for the jobs before it. The first job
                // of the next device runs with it.
                let _ = write!(
                    jobs,
                    "[act-prep-zeroes-{device}]\nfilename={device}\nbs=1048576\nzero_buffers\nrw=write\n\
                     [act-prep-salt-{device}]\nstonewall\nfilename={device}\nbs=4096\nioengine=libaio\niodepth=64\n\
                     rw=randwrite\n"
                );
            }
            return Ok(Profile { jobs, act: None });
        }
        let reads_per_write = write_bytes / read_bytes;
        if reads_per_write == 0 {
            let why = format!("the writes of {write_bytes} bytes are smaller than the reads of {read_bytes}");
            return Err(self.refuse(LARGE_BLOCK_OP_KBYTES.name(), &write_bytes.to_string(), &why));
        }
        let reads = load * ACT_READS / threads;
        if reads == 0 {
            let why = format!("{threads} threads cannot share {} reads per second", load * ACT_READS);
            return Err(self.refuse(THREADS_PER_QUEUE.name(), &threads.to_string(), &why));
        }
        let writes = (load * ACT_WRITES).div_ceil(reads_per_write);
        let _ = write!(jobs, "runtime={}us\ntime_based=1\n", duration.0 / 1_000);
        for device in devices {
            let _ = write!(
                jobs,
                "[act-read-{device}]\nfilename={device}\nrw=randread\nnumjobs={threads}\nrate_iops={reads}\nbs={read_bytes}\n\
                 [act-write-{device}]\nfilename={device}\nrw=randwrite\nrate_iops={writes}\nbs={write_bytes}\n"
            );
        }
        Ok(Profile { jobs, act: Some(ActTest { duration }) })
    }

    /// Removes the last line of one of the profile's own options from its section.
    fn take(&mut self, option: OptionName) -> Option<(OptionLine, WordLocation)> {
        let mut found = None;
        for section in self.sections.iter_mut() {
            if let Some(line) = section.lines.iter().rfind(|line| line.name == option.as_str()) {
                found = Some((line.clone(), line.place.clone()));
            }
            section.lines.retain(|line| line.name != option.as_str());
        }
        found
    }

    fn refuse(&self, option: OptionName, text: &str, reason: &str) -> Box<FioError> {
        let (place, text, reason) = (self.place.clone(), text.to_owned(), reason.to_owned());
        Box::new(FioError::BadWord { place, option: option.as_str(), text, reason })
    }

    /// Parses a value of one of the profile's own options.
    fn value<T>(
        &mut self,
        option: OptionName,
        read: impl FnOnce(&str, &mut ValueReading<'_>) -> Result<T, ValueError>,
    ) -> Result<Option<(T, String)>, Box<FioError>> {
        let Some((line, place)) = self.take(option) else { return Ok(None) };
        let text = line.text.unwrap_or_default();
        let mut doubts = Vec::new();
        let mut reading = ValueReading { compat: self.compat, kb_base: 1_024, doubts: &mut doubts };
        let value = read(text.trim(), &mut reading);
        self.warnings.extend(doubts.into_iter().map(|doubt| Warning::Misread {
            place: place.clone(),
            option: option.as_str(),
            doubt,
        }));
        match value {
            Ok(value) => Ok(Some((value, text))),
            Err(reason) => {
                Err(Box::new(FioError::BadWord { place, option: option.as_str(), text, reason: reason.to_string() }))
            }
        }
    }

    fn count(&mut self, option: OptionName, default: u64) -> Result<u64, Box<FioError>> {
        match self.value(option, plain)? {
            None => Ok(default),
            Some((count, _)) if (1..=ACT_COUNT_MAX).contains(&count) => Ok(count),
            Some((_, text)) => Err(self.refuse(option, &text, &format!("use 1 to {ACT_COUNT_MAX}"))),
        }
    }

    fn write_bytes(&mut self) -> Result<u64, Box<FioError>> {
        const OPTION: OptionName = LARGE_BLOCK_OP_KBYTES.name();
        let Some((value, text)) = self.value(OPTION, plain)? else { return Ok(131_072) };
        let is_kib =
            self.compat == Compat::Meant && value < ACT_KIB_BELOW && text.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = if is_kib { value * 1_024 } else { value };
        if bytes == 0 || bytes > u64::from(u32::MAX) {
            return Err(self.refuse(OPTION, &text, "use a size of more than 0 and less than 4 GiB"));
        }
        if is_kib {
            self.misread(OPTION, &text, format!("{value} KiB"), format!("reads {value} bytes"));
        }
        Ok(bytes)
    }

    /// fio stores a time with a unit in microseconds, but uses the number as seconds.
    fn duration(&mut self) -> Result<Nanos, Box<FioError>> {
        const OPTION: OptionName = TEST_DURATION.name();
        const DAY: Nanos = Nanos(24 * 3_600 * 1_000_000_000);
        let Some((duration, text)) = self.value(OPTION, |text, reading| time(text, Bare::Seconds, reading))? else {
            return Ok(DAY);
        };
        let is_bare = text.trim().bytes().all(|byte| byte.is_ascii_digit());
        let seconds = if is_bare { duration.0 / 1_000_000_000 } else { duration.0 / 1_000 };
        if !is_bare && self.compat == Compat::Meant {
            self.misread(OPTION, &text, duration.to_string(), format!("runs {seconds} s"));
            return Ok(duration);
        }
        Ok(Nanos(seconds.saturating_mul(1_000_000_000)))
    }

    fn misread(&mut self, option: OptionName, written: &str, here: String, fio: String) {
        let doubt = Doubt { written: written.to_owned(), here, fio };
        self.warnings.push(Warning::Misread { place: self.place.clone(), option: option.as_str(), doubt });
    }
}

fn tiobench(sections: &mut [Section]) -> String {
    let mut take = |option: OptionName| take(sections, option);
    let options = TiobenchOptions {
        size: take(SIZE.name()).map_or_else(|| "4*1024*$mb_memory".to_owned(), |size| format!("{size}{SIZE_UNIT}")),
        block: take(BLOCK.name()).unwrap_or_else(|| "4096".to_owned()),
        runs: take(NUMRUNS.name()).unwrap_or_else(|| "1".to_owned()),
        directory: take(DIR.name()).unwrap_or_else(|| "./".to_owned()),
        threads: take(THREADS.name()).unwrap_or_else(|| "1".to_owned()),
    };
    let TiobenchOptions { size, block, runs, directory, threads } = options;
    format!(
        "[global]\nbuffered=0\nsize={size}\nbs={block}\nloops={runs}\ndirectory={directory}\nnumjobs={threads}\nruntime=600\n\
         group_reporting\nthread\noverwrite=1\nfilename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4\nioengine=sync\n\
         [seqwrite]\nrw=write\nend_fsync=1\n[randwrite]\nstonewall\nrw=randwrite\nend_fsync=1\n\
         [seqread]\nstonewall\nrw=read\n[randread]\nstonewall\nrw=randread\n"
    )
}

/// Removes an option from the command line's global sections and returns its last value.
fn take(sections: &mut [Section], option: OptionName) -> Option<String> {
    let mut found = None;
    for section in sections.iter_mut().filter(|section| section.kind == SectionKind::Global) {
        let is_it = |line: &OptionLine| line.name == option.as_str();
        if let Some(line) = section.lines.iter().rfind(|line| is_it(line)) {
            found.clone_from(&line.text);
        }
        section.lines.retain(|line| !is_it(line));
    }
    found
}
