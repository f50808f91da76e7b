//! Numbers of MPI-IO in each library: how a file is opened, and what failed.

use super::Kind;
use std::ffi::c_int;

/// How a file is opened: MPI's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) struct Modes {
    pub(in crate::mpi) read: bool,
    pub(in crate::mpi) write: bool,
    pub(in crate::mpi) create: bool,
    pub(in crate::mpi) exclusive: bool,
}

impl Modes {
    /// As the library has them. Nobody else opens the file at the same time: `MPI_MODE_UNIQUE_OPEN`. Source: `mpi.h` of each; the
    /// standard's own are powers of two in the order of the names.
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

/// Error classes that have a number of the system's. Source: `mpi.h` of each; of MPI 5, the ABI's.
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

    // Protects the numbers of each library: with a wrong one, a file that is to be read would be emptied or made.
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
