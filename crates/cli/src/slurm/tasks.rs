//! Tasks of one `srun` step that measure together without MPI. Task 0 listens, and leaves an invitation in a file that
//! only this user can read, in a directory that the nodes share.

use super::door::{Door, dialed};
use crate::exit::Stopped;
use crate::hosts::patience;
use plumb_cluster::slurm::Task;
use plumb_cluster::star::{self, Greeting, Link, Protocols, Star, read_line};
use plumb_cluster::{JoinError, Joined};
use plumb_engine::guard::trusted_path::TrustedDir;
use plumb_engine::private_directory::user_directory;
use plumb_tls::{Channel, Invitation};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Variable with the shared directory.
const SETTING: &str = "PLUMB_SLURM_DIR";
/// Time for all tasks to join.
const JOIN_PATIENCE: Duration = Duration::from_secs(60);
/// Name of this transport in results.
const TRANSPORT: &str = "srun without MPI";

/// Joins the tasks of this process's step. Task 0 becomes rank 0, which measures like the others.
///
/// # Errors
/// A task cannot be reached.
pub(crate) fn join(task: &Task) -> Result<Joined, Stopped> {
    let path = shared_directory()?.join(&task.step);
    let failed = |error: JoinError| Stopped::io(format!("task {} of {}: {error}", task.rank, task.size));
    let star = match task.rank {
        0 => lead(task, &path)?,
        _ => {
            let (link, greeting) = follow(task, &path)?;
            Star::follow(link, &greeting, TRANSPORT).map_err(failed)?
        }
    };
    Ok(Joined { cluster: Arc::new(star.with_measuring_leader()), mpi: None, host: None })
}

/// Returns the directory for invitations, which only this user can write to.
fn shared_directory() -> Result<PathBuf, Stopped> {
    let dir = match std::env::var_os(SETTING).map(PathBuf::from).filter(|dir| dir.is_absolute()) {
        Some(dir) => dir.join(".plumb-steps"),
        None => user_directory("XDG_STATE_HOME", ".local/state").map_err(Stopped::io)?.join("plumb"),
    };
    let dir = TrustedDir::create_private(&dir).map_err(|error| {
        Stopped::io(format!("no directory for the tasks of the step to meet in: {error}; name one with {SETTING}"))
    })?;
    Ok(dir.path().to_owned())
}

/// An invitation's file, removed when the value goes.
struct InvitationFile<'a>(&'a Path);

impl Drop for InvitationFile<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

/// Waits for all tasks, and gives each its rank.
fn lead(task: &Task, path: &Path) -> Result<Star, Stopped> {
    let door = Door::open()?;
    // The rest of a killed run; its tasks are gone.
    let _ = std::fs::remove_file(path);
    door.invitation().save(path).map_err(Stopped::io)?;
    let file = InvitationFile(path);
    let names: Vec<String> = (1..task.size).map(|rank| rank.to_string()).collect();
    let begun = Instant::now();
    let mut channels = door.admit(&names, |absent| match begun.elapsed() < JOIN_PATIENCE {
        true => Ok(()),
        false => Err(Stopped::io(format!(
            "task {} of {} did not join within {} s: do all nodes see {}?\n\
             Name a directory that they share with {SETTING}, or start with MPI: `srun --mpi=pmix` or `srun --mpi=pmi2`.",
            absent[0],
            task.size,
            JOIN_PATIENCE.as_secs(),
            path.display()
        ))),
    })?;
    drop(file);
    let patience = patience();
    let mut links = Vec::new();
    for (rank, name) in (1..).zip(&names) {
        let Some(channel) = channels.remove(name) else { continue };
        let mut link = Link { reader: Box::new(channel.clone()), writer: Box::new(channel) };
        let greeting = Greeting { protocols: Protocols::OWN, rank, size: task.size, patience, name: "task".to_owned() };
        star::greet(&mut link, &greeting).map_err(|error| Stopped::io(format!("task {rank} {error}")))?;
        links.push(link);
    }
    Star::lead(links, patience, TRANSPORT).map_err(Stopped::io)
}

/// Connects to task 0, and returns the rank that it assigns.
fn follow(task: &Task, path: &Path) -> Result<(Link, Greeting), Stopped> {
    let failed = |error: &dyn std::fmt::Display| Stopped::io(format!("task {} of {}: {error}", task.rank, task.size));
    let mut channel = invited(task, path)?;
    channel.set_deadline(Some(Instant::now() + JOIN_PATIENCE));
    let greeting = read_line(&mut channel).and_then(|line| Greeting::read(&line)).map_err(|error| failed(&error))?;
    channel.set_deadline(None);
    let mut link = Link { reader: Box::new(channel.clone()), writer: Box::new(channel) };
    link.writer.write_all(greeting.accept().as_bytes()).map_err(|error| failed(&error))?;
    Ok((link, greeting))
}

/// Waits for the invitation, and connects. An invitation of a killed run leads nowhere, so this tries again.
fn invited(task: &Task, path: &Path) -> Result<Channel, Stopped> {
    const TRY_INTERVAL: Duration = Duration::from_millis(50);
    let begun = Instant::now();
    loop {
        // Opening the directory makes NFS ask the server for new names in it.
        let _ = path.parent().map(std::fs::read_dir);
        let connected = Invitation::load(path)
            .map_err(Stopped::io)
            .and_then(|invitation| dialed(&invitation, &task.rank.to_string()));
        match connected {
            Ok(channel) => return Ok(channel),
            Err(stopped) if begun.elapsed() > JOIN_PATIENCE => return Err(stopped),
            Err(_) => std::thread::sleep(TRY_INTERVAL),
        }
    }
}
