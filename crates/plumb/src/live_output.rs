//! Standard output that is read while it is written, report by report.

use crate::exit::Stopped;
use std::io::Write;

/// How a row of reports ended before its end.
pub enum Early {
    /// Nobody reads any more.
    Unread,
    /// With an error.
    Failed(Stopped),
}

impl From<Stopped> for Early {
    fn from(stopped: Stopped) -> Early {
        Early::Failed(stopped)
    }
}

/// Written at once, so that whoever reads has each report as soon as it is there.
pub fn write(text: &str) -> Result<(), Early> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => Early::Unread,
        _ => Early::Failed(Stopped::io(format!("standard output: {error}"))),
    })
}
