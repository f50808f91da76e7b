//! The log that `write_iolog` writes and `read_iolog` replays, version 3: µs since the log began, file, action.

/// The first line, with its end.
pub fn iolog_header() -> &'static str {
    "fio version 3 iolog\n"
}

/// A file event in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IologAction {
    /// The file is added to the log; must come before its other events.
    Add,
    /// Opened.
    Open,
    /// Closed.
    Close,
    /// Read.
    Read(LoggedExtent),
    /// Written.
    Write(LoggedExtent),
    /// Trimmed.
    Trim(LoggedExtent),
    /// fsync.
    Sync(LoggedExtent),
    /// fdatasync.
    Datasync(LoggedExtent),
}

/// Where in a file, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoggedExtent {
    /// First byte.
    pub offset: u64,
    /// How many; fio writes 0 for a flush.
    pub length: u64,
}

/// One line, with its end. fio's format has no way to quote a blank in a file's name; a name with one cannot be read back.
pub fn iolog_line(since_start_us: u64, file: &str, action: IologAction) -> String {
    let (name, extent) = match action {
        IologAction::Add => ("add", None),
        IologAction::Open => ("open", None),
        IologAction::Close => ("close", None),
        IologAction::Read(extent) => ("read", Some(extent)),
        IologAction::Write(extent) => ("write", Some(extent)),
        IologAction::Trim(extent) => ("trim", Some(extent)),
        IologAction::Sync(extent) => ("sync", Some(extent)),
        IologAction::Datasync(extent) => ("datasync", Some(extent)),
    };
    match extent {
        None => format!("{since_start_us} {file} {name}\n"),
        Some(LoggedExtent { offset, length }) => format!("{since_start_us} {file} {name} {offset} {length}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_version_3() {
        assert_eq!(iolog_line(0, "/x/a.0.0", IologAction::Add), "0 /x/a.0.0 add\n");
        let extent = LoggedExtent { offset: 8192, length: 4096 };
        assert_eq!(iolog_line(17, "/x/a.0.0", IologAction::Write(extent)), "17 /x/a.0.0 write 8192 4096\n");
    }
}
