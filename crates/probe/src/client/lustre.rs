//! Counters of a Lustre client: `llite` for each mount, `osc` and `mdc` for each server target that a mount uses.
//! Sources: Lustre Operations Manual, "Monitoring Client Activity" (`llite.*.stats`) and "Monitoring the OST I/O
//! stream"; Lustre, lustre/llite/lproc_llite.c, lustre/osc/lproc_osc.c, lustre/ptlrpc/lproc_ptlrpc.c and
//! lustre/obdclass/lprocfs_status.c (the format of a line).

use crate::error::ProbeError;
use crate::sysroot::Sysroot;
use plumb_result::client::{ClientCounters, ClientRequests};

/// Directories of the statistics: since Lustre 2.12, and before. Only root may read the first.
const PLACES: [&str; 2] = ["/sys/kernel/debug/lustre", "/proc/fs/lustre"];

/// Returns the counters of the file system with this source, `mgs@tcp:/name`. Several mounts of it are summed, since
/// no readable file relates a counter to a mount point.
pub(super) fn counters(sys: &Sysroot, source: &str) -> Result<ClientCounters, ProbeError> {
    let name = file_system(source).ok_or_else(|| ProbeError::form("a mount of Lustre", source, "SERVER:/NAME"))?;
    let place = PLACES.into_iter().find_map(|place| {
        let mounts = instances(&sys.names(format!("{place}/llite")), name);
        (!mounts.is_empty()).then_some((place, mounts))
    });
    let Some((place, mounts)) = place else {
        let lacks =
            ProbeError::lacks(format!("{}/llite, or {}/llite,", PLACES[0], PLACES[1]), format!("entry of `{name}`"));
        return Err(ProbeError::OnlyRoot(Box::new(lacks)));
    };
    let mut sum = ClientCounters { uncommitted_bytes: Some(0), ..ClientCounters::default() };
    for mount in &mounts {
        let directory = format!("{place}/llite/{name}-{mount}");
        let stats = Stats::read(sys, format!("{directory}/stats"))?;
        add(&mut sum.asked_read_bytes, stats.sum("read_bytes")?);
        add(&mut sum.asked_write_bytes, stats.sum("write_bytes")?);
        let unstable = sys.read(format!("{directory}/unstable_stats")).ok().and_then(|text| unstable_bytes(&text));
        sum.uncommitted_bytes = sum.uncommitted_bytes.zip(unstable).map(|(sum, one)| sum.saturating_add(one));
    }
    let mut requests = [ClientRequests::default(); 3];
    // Small files may be stored on a metadata server (Data-on-MDT), whose client counts their
    // bytes under the same names.
    for role in ["osc", "mdc"] {
        for device in sys.names(format!("{place}/{role}")).iter().filter(|device| serves(device, name, role, &mounts)) {
            let stats = Stats::read(sys, format!("{place}/{role}/{device}/stats"))?;
            add(&mut sum.server_read_bytes, stats.sum("read_bytes")?);
            add(&mut sum.server_write_bytes, stats.sum("write_bytes")?);
            for (sum, of) in requests.iter_mut().zip(["ost_read", "ost_write", "ost_sync"]) {
                let (count, answered_us) = (stats.count(of)?, stats.sum(of)?);
                *sum = sum.plus(ClientRequests { count, answered_us, ..ClientRequests::default() });
            }
        }
    }
    let [reads, writes, commits] = requests.map(Some);
    Ok(ClientCounters { reads, writes, commits, ..sum })
}

fn add(sum: &mut u64, one: u64) {
    *sum = sum.saturating_add(one);
}

/// Extracts `name` from `10.0.0.1@o2ib:10.0.0.2@o2ib:/name/below`.
fn file_system(source: &str) -> Option<&str> {
    let (_, path) = source.rsplit_once(":/")?;
    path.split('/').next().filter(|name| !name.is_empty())
}

/// Returns the parts after `NAME-` in the names of a file system's mounts: `ffff8a1c4d2e7000`.
fn instances(names: &[String], file_system: &str) -> Vec<String> {
    let instance = |name: &String| name.strip_prefix(file_system)?.strip_prefix('-').map(str::to_owned);
    let is_hex = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    names.iter().filter_map(instance).filter(is_hex).collect()
}

/// Whether a client device serves one of these mounts: `NAME-OST0000-osc-ffff8a1c4d2e7000` serves
/// `NAME-ffff8a1c4d2e7000`. Servers have such clients too.
fn serves(device: &str, file_system: &str, role: &str, mounts: &[String]) -> bool {
    let Some((target, instance)) = device.rsplit_once(&format!("-{role}-")) else { return false };
    let is_target = target.strip_prefix(file_system).is_some_and(|rest| rest.starts_with('-'));
    is_target && mounts.iter().any(|mount| mount == instance)
}

/// Lines `name COUNT samples [unit] MIN MAX SUM SUM_OF_SQUARES`. An event that never happened has no line.
struct Stats {
    place: String,
    text: String,
}

impl Stats {
    fn read(sys: &Sysroot, place: String) -> Result<Stats, ProbeError> {
        let text = sys.read(&place)?;
        Ok(Stats { place, text })
    }

    fn field(&self, name: &str, position: usize) -> Result<u64, ProbeError> {
        let line = self.text.lines().find(|line| line.split_whitespace().next() == Some(name));
        let Some(line) = line else { return Ok(0) };
        let word = line.split_whitespace().nth(position);
        let value = word.and_then(|word| word.parse().ok());
        value.ok_or_else(|| ProbeError::lacks(&self.place, format!("valid number in the line {line:?}")))
    }

    /// Returns the number of events.
    fn count(&self, name: &str) -> Result<u64, ProbeError> {
        self.field(name, 1)
    }

    /// Returns the sum over all events, in the line's unit.
    fn sum(&self, name: &str) -> Result<u64, ProbeError> {
        self.field(name, 6)
    }
}

/// Returns the bytes that servers acknowledged but did not make durable. Source:
/// lustre/llite/lproc_llite.c, `ll_unstable_stats_seq_show`.
fn unstable_bytes(text: &str) -> Option<u64> {
    let pages = text.lines().find_map(|line| line.trim().strip_prefix("unstable_pages:"))?;
    pages.trim().parse::<u64>().ok()?.checked_mul(rustix::param::page_size() as u64)
}
