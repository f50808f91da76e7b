//! Work of all ranks that is no run: a queue of tasks that they empty together.

use super::JoinedRanks;
use super::order::{self, Task};
use super::patience::AfterSignal;
use plumb_cluster::{ClusterError, Reduction};
use plumb_engine::signals::StopFlag;

impl JoinedRanks {
    /// Asks the others for such work. What the words mean is for those to know who [follow](super::follow).
    ///
    /// # Errors
    /// The others cannot be reached.
    pub fn ask(&self, words: String) -> Result<(), ClusterError> {
        order::send_other(self.cluster.as_ref(), words).inspect_err(|_| self.break_off())
    }

    /// Empties a queue, which begins with the tasks of rank 0. In each round, the first `workers` ranks get their parts of it, and how
    /// many tasks all of them got, do as much as they like, and return what is left and what has come to it. Collective.
    ///
    /// # Errors
    /// A rank does not answer.
    pub fn empty_queue(
        &self,
        stop: StopFlag,
        first: Vec<Task>,
        workers: u32,
        work: &mut dyn FnMut(Vec<Task>, usize) -> Vec<Task>,
    ) -> Result<(), ClusterError> {
        let workers = workers.clamp(1, self.size()) as usize;
        let mut waiting = first;
        loop {
            let all = self.broadcast_all(stop, &waiting)?;
            if all.is_empty() {
                return Ok(());
            }
            let count = all.len();
            let own = all.into_iter().skip(self.rank() as usize).step_by(workers);
            let left = if (self.rank() as usize) < workers { work(own.collect(), count) } else { Vec::new() };
            let left = self.gather(stop, packed(&left))?;
            waiting = left.iter().filter_map(|(_, packed)| unpacked(packed)).flatten().collect();
        }
    }

    /// What every rank says, with its number, in their order; on rank 0 all of it. Collective.
    ///
    /// # Errors
    /// A rank does not answer.
    pub fn gather(&self, stop: StopFlag, own: Task) -> Result<Vec<(u32, Task)>, ClusterError> {
        let after_signal = AfterSignal::new(stop, &*self.cluster);
        let mut said = Gathered { said: vec![(self.rank(), own)], missing: None };
        let reduced = self.cluster.reduce(&mut said, &after_signal.patience());
        let missing = said.missing.take().map_or(Ok(()), Err);
        reduced.and(missing).inspect_err(|_| self.break_off())?;
        said.said.sort_by_key(|(rank, _)| *rank);
        Ok(said.said)
    }

    fn broadcast_all(&self, stop: StopFlag, tasks: &[Task]) -> Result<Vec<Task>, ClusterError> {
        let after_signal = AfterSignal::new(stop, &*self.cluster);
        let sent = self.cluster.broadcast(packed(tasks), &after_signal.patience());
        let sent = sent.and_then(|sent| unpacked(&sent).ok_or(UNREADABLE));
        sent.inspect_err(|_| self.break_off())
    }
}

const UNREADABLE: ClusterError = ClusterError::Unexpected { rank: 0, what: "tasks that cannot be read" };

/// Each behind its length.
fn packed(tasks: &[Task]) -> Vec<u8> {
    let mut all = Vec::new();
    for task in tasks {
        all.extend_from_slice(&(task.len() as u64).to_le_bytes());
        all.extend_from_slice(task);
    }
    all
}

fn unpacked(mut all: &[u8]) -> Option<Vec<Task>> {
    let mut tasks = Vec::new();
    while let Some((length, rest)) = all.split_first_chunk() {
        let (task, behind) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        tasks.push(task.to_vec());
        all = behind;
    }
    all.is_empty().then_some(tasks)
}

/// What ranks say, each with its number.
struct Gathered {
    said: Vec<(u32, Task)>,
    missing: Option<ClusterError>,
}

impl Reduction for Gathered {
    fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>) {
        let read =
            sent.and_then(|sent| unpacked(&sent).ok_or(ClusterError::Unexpected { rank: child, what: "no tasks" }));
        match read {
            Ok(all) => self.said.extend(all.iter().filter_map(|said| {
                let (rank, said) = said.split_first_chunk()?;
                Some((u32::from_le_bytes(*rank), said.to_vec()))
            })),
            Err(error) => _ = self.missing.get_or_insert(error),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let said = self.said.iter().map(|(rank, said)| [&rank.to_le_bytes(), said.as_slice()].concat());
        packed(&said.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects what is sent: tasks of any bytes and lengths, none at all, and nothing that was cut off.
    #[test]
    fn tasks_survive_being_packed() {
        for tasks in [vec![], vec![vec![]], vec![vec![0, 255], vec![], b"a/b".to_vec()]] {
            assert_eq!(unpacked(&packed(&tasks)), Some(tasks));
        }
        let whole = packed(&[b"abc".to_vec()]);
        for cut in 1..whole.len() {
            assert_eq!(unpacked(&whole[..cut]), None, "{cut}");
        }
        assert_eq!(unpacked(&[255; 9]), None);
    }

    // Protects the sum: a rank passes on what its children say, with their numbers.
    #[test]
    fn what_ranks_say_is_passed_on() {
        let mut child = Gathered { said: vec![(3, b"x".to_vec()), (7, Vec::new())], missing: None };
        let mut parent = Gathered { said: vec![(1, b"y".to_vec())], missing: None };
        parent.absorb(3, Ok(child.bytes()));
        assert_eq!(parent.said, [(1, b"y".to_vec()), (3, b"x".to_vec()), (7, Vec::new())]);
        parent.absorb(2, Ok(vec![1]));
        assert!(parent.missing.is_some());
    }
}
