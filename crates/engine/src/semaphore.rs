//! System V semaphores, through which otherwise unrelated programs start together.
#![allow(unsafe_code)]

use std::io;

/// A set of semaphores with a machine-wide key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semaphores {
    id: i32,
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

impl Semaphores {
    /// Creates `count` semaphores, or opens the existing ones, and sets each to the value.
    ///
    /// # Errors
    /// Those of semget(2) and semctl(2).
    pub fn make(key: i32, count: u16, value: i32) -> io::Result<Semaphores> {
        // SAFETY: passes no memory.
        let id = checked(unsafe { libc::semget(key as libc::key_t, count.into(), libc::IPC_CREAT | 0o666) })?;
        for number in 0..count {
            // SAFETY: SETVAL takes an int in place of the union, which is passed the same way.
            checked(unsafe { libc::semctl(id, number.into(), crate::os::SETVAL, value) })?;
        }
        Ok(Semaphores { id })
    }

    /// Opens existing semaphores, at least `count` of them.
    ///
    /// # Errors
    /// Those of semget(2).
    pub fn find(key: i32, count: u16) -> io::Result<Semaphores> {
        // SAFETY: passes no memory.
        checked(unsafe { libc::semget(key as libc::key_t, count.into(), 0o666) }).map(|id| Semaphores { id })
    }

    /// Removes the semaphores, even if others wait for them.
    ///
    /// # Errors
    /// Those of semctl(2).
    pub fn remove(self) -> io::Result<()> {
        // SAFETY: IPC_RMID takes no further argument.
        checked(unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) }).map(drop)
    }

    /// Decrements the semaphore, and waits until it is 0.
    ///
    /// # Errors
    /// Those of semop(2); `EAGAIN` if it was already 0.
    pub fn meet(self, number: u16) -> io::Result<()> {
        self.operate(number, -1, libc::IPC_NOWAIT)?;
        self.operate(number, 0, 0)
    }

    fn operate(self, number: u16, by: i16, flags: libc::c_int) -> io::Result<()> {
        let mut operation = libc::sembuf { sem_num: number, sem_op: by, sem_flg: flags as libc::c_short };
        // SAFETY: one operation, which outlives the call.
        checked(unsafe { libc::semop(self.id, &raw mut operation, 1) }).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the rendezvous: two callers continue together, and a third one gets an error.
    #[test]
    fn the_last_caller_releases_all() {
        let key = 0x706c_0000 | (std::process::id() as i32 & 0xffff);
        let made = Semaphores::make(key, 2, 2).unwrap();
        let found = Semaphores::find(key, 2).unwrap();
        assert_eq!(made, found);
        let other = std::thread::spawn(move || found.meet(1));
        made.meet(1).unwrap();
        other.join().unwrap().unwrap();
        assert_eq!(made.meet(1).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        made.remove().unwrap();
        assert_eq!(Semaphores::find(key, 1).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
