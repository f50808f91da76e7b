//! Numeric constants of MPI-IO in each library: open modes and error classes.

use super::Kind;
use std::ffi::c_int;

/// Open modes (`MPI_MODE_*`) of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) struct Modes {
    pub(in crate::mpi) read: bool,
    pub(in crate::mpi) write: bool,
    pub(in crate::mpi) create: bool,
    pub(in crate::mpi) exclusive: bool,
}

impl Modes {
    /// Returns the modes as the library's bits. Includes `MPI_MODE_UNIQUE_OPEN`: no other program opens the
    /// file at the same time. Source: `mpi.h` of each library. The standard's own values are powers of two in
    /// the order of the names.
    pub(super) fn number(self, kind: Kind) -> c_int {
        let [create, exclusive, unique, read, write, both] = match kind {
            Kind::OpenMpi | Kind::Mpich => [1, 64, 32, 2, 4, 8],
            Kind::Mpi5 => [2, 8, 128, 16, 256, 32],
        };
        let access = match (self.read, self.write) {
            (_, false) => read,
            (true, true) => both,
            (false, true) => write,
        };
        let wanted = [(self.create, create), (self.exclusive, exclusive)];
        wanted.into_iter().filter(|(wanted, _)| *wanted).fold(access | unique, |mode, (_, flag)| mode | flag)
    }
}

/// Maps an MPI error class to an errno value. Source: `mpi.h` of each library; the ABI for MPI 5.
pub(super) fn errno_of(kind: Kind, class: c_int) -> c_int {
    let known = [
        libc::EACCES,
        libc::EINVAL,
        libc::EEXIST,
        libc::EBUSY,
        libc::ENOMEM,
        libc::ENOSPC,
        libc::ENOENT,
        libc::EDQUOT,
        libc::EROFS,
        libc::EOPNOTSUPP,
    ];
    let classes = match kind {
        Kind::OpenMpi => [20, 23, 28, 29, 39, 41, 42, 44, 45, 52],
        Kind::Mpich => [20, 22, 25, 26, 34, 36, 37, 39, 40, 44],
        Kind::Mpi5 => [20, 23, 28, 29, 39, 41, 42, 45, 46, 58],
    };
    classes.into_iter().zip(known).find(|(known, _)| *known == class).map_or(libc::EIO, |(_, errno)| errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the numbers of each library: with a wrong one, a file that is to be read
    // would be truncated or created.
    #[test]
    fn modes_and_errors_have_the_numbers_of_each_library() {
        let read = Modes { read: true, write: false, create: false, exclusive: false };
        let made = Modes { write: true, create: true, ..read };
        assert_eq!([read, made].map(|modes| modes.number(Kind::OpenMpi)), [2 | 32, 8 | 1 | 32]);
        assert_eq!([read, made].map(|modes| modes.number(Kind::Mpich)), [2 | 32, 8 | 1 | 32]);
        assert_eq!([read, made].map(|modes| modes.number(Kind::Mpi5)), [16 | 128, 32 | 2 | 128]);
        let only = Modes { read: false, exclusive: true, ..made };
        assert_eq!([Kind::Mpich, Kind::Mpi5].map(|kind| only.number(kind)), [4 | 1 | 64 | 32, 256 | 2 | 8 | 128]);
        assert_eq!(errno_of(Kind::OpenMpi, 41), libc::ENOSPC);
        assert_eq!(errno_of(Kind::Mpich, 36), libc::ENOSPC);
        assert_eq!(errno_of(Kind::Mpich, 37), libc::ENOENT);
        assert_eq!(errno_of(Kind::Mpi5, 41), libc::ENOSPC);
        assert_eq!(errno_of(Kind::OpenMpi, 999), libc::EIO);
    }
}
