//! Errnos by name.

macro_rules! names {
    ($($name:ident)*) => { const NAMES: &[(i32, &str)] = &[$((libc::$name, stringify!($name))),*]; };
}
names! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV
    ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG
    ENOLCK ENOSYS ENOTEMPTY ELOOP ENODATA EOVERFLOW EILSEQ EOPNOTSUPP EADDRINUSE ESTALE EDQUOT ECONNREFUSED EBADE EUCLEAN
}

/// Returns a name such as `ENOENT`; the number if it has no name here; `success` for 0.
pub(crate) fn name(errno: i32) -> String {
    match NAMES.iter().find(|(number, _)| *number == errno) {
        _ if errno == 0 => "success".to_owned(),
        Some((_, name)) => (*name).to_owned(),
        None => format!("errno {errno}"),
    }
}

/// Returns a list such as `EACCES or EPERM`.
pub(crate) fn names(errnos: &[i32]) -> String {
    errnos.iter().map(|errno| name(*errno)).collect::<Vec<_>>().join(" or ")
}
