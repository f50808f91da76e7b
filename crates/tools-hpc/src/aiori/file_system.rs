//! The file system in the tools' header lines.

/// Sizes of a file system, from statfs(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileSystem {
    /// Total size, bytes.
    pub total_bytes: u64,
    /// Free space, bytes.
    pub free_bytes: u64,
    pub inodes: u64,
    pub free_inodes: u64,
}

impl FileSystem {
    /// Returns the size with a unit.
    pub fn capacity(&self) -> String {
        let gib = self.total_bytes as f64 / (1u64 << 30) as f64;
        if gib > 1024.0 { format!("{:.1} TiB", gib / 1024.0) } else { format!("{gib:.1} GiB") }
    }

    /// Returns the used space, percent.
    pub(crate) fn used_percent(&self) -> f64 {
        used(self.total_bytes, self.free_bytes)
    }

    /// Returns the number of inodes, in units of 2²⁰.
    pub(crate) fn inodes_mi(&self) -> f64 {
        self.inodes as f64 / f64::from(1 << 20)
    }

    /// Returns the used inodes, percent.
    pub(crate) fn used_inodes_percent(&self) -> f64 {
        used(self.inodes, self.free_inodes)
    }

    /// Formats the two header lines.
    pub fn lines(&self, path: &str) -> String {
        format!(
            "{:<20}: {path}\n{:<20}: {}   Used FS: {:.1}%   Inodes: {:.1} Mi   Used Inodes: {:.1}%\n",
            "Path",
            "FS",
            self.capacity(),
            self.used_percent(),
            self.inodes_mi(),
            self.used_inodes_percent()
        )
    }
}

/// Returns the used share, percent; 0 if the total is 0.
fn used(total: u64, free: u64) -> f64 {
    if total == 0 { 0.0 } else { (1.0 - free as f64 / total as f64) * 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the first lines of both tools, as in their goldens.
    #[test]
    fn lines_equal_those_of_the_tools() {
        let here = FileSystem {
            total_bytes: 252 << 30,
            free_bytes: (252u64 << 30) / 1000 * 919,
            inodes: 16 << 20,
            free_inodes: (16 << 20) / 1000 * 968,
        };
        let lines = "Path                : out1\n\
                     FS                  : 252.0 GiB   Used FS: 8.1%   Inodes: 16.0 Mi   Used Inodes: 3.2%\n";
        assert_eq!(here.lines("out1"), lines);
        let none = FileSystem { total_bytes: 3 << 40, free_bytes: 3 << 40, inodes: 0, free_inodes: 0 };
        assert!(none.lines("x").contains("3.0 TiB   Used FS: 0.0%   Inodes: 0.0 Mi   Used Inodes: 0.0%"));
    }
}
