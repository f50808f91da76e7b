//! Facts about this machine that IOzone's options refer to.

use plumb_tools::FileError;
use plumb_tools_classic::iozone::Machine;
use plumb_tools_classic::iozone::print::heat::Edges;
use std::path::Path;

pub(super) struct Here;

impl Machine for Here {
    fn file(&mut self, path: &str) -> Result<String, FileError> {
        plumb_text::bounded::read_to_string(path).map_err(FileError::io(path))
    }

    fn uname(&mut self) -> String {
        let name = rustix::system::uname();
        let parts = [name.sysname(), name.nodename(), name.release(), name.version(), name.machine()];
        let parts: Vec<_> = parts.iter().map(|part| part.to_string_lossy()).collect();
        // Like `uname -a`, which adds the system's own name.
        format!("{} GNU/Linux", parts.join(" "))
    }

    fn processors(&mut self) -> u32 {
        std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
    }
}

/// Returns the sizes of the processor's last cache and of memory; 0 if unknown.
pub(super) fn edges() -> Edges {
    let caches = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let sizes = std::fs::read_dir(caches).into_iter().flatten().flatten().filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("size")).ok()?;
        let text = text.trim();
        match text.strip_suffix('M') {
            Some(mebibytes) => mebibytes.parse::<u64>().ok().map(|size| size * 1024),
            None => text.strip_suffix('K')?.parse().ok(),
        }
    });
    let cache_kb = sizes.max().unwrap_or(0);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let memory_kb = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    Edges { cache_kb, memory_kb }
}
