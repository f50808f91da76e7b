//! Work of all ranks that is not a run: a queue of tasks that they empty together.

use super::JoinedRanks;
use super::order::{self, Task};
use super::patience::AfterSignal;
use plumb_cluster::{ClusterError, Reduction};
use plumb_engine::signals::StopFlag;

impl JoinedRanks {
    /// Asks the other ranks for work that is not a run. Only their [followers](super::follow) interpret `words`.
    ///
    /// # Errors
    /// The other ranks are unreachable.
    pub fn ask(&self, words: String) -> Result<(), ClusterError> {
        order::send_other(self.cluster.as_ref(), words).inspect_err(|_| self.break_off())
    }

    /// Empties a queue, which begins with the tasks of rank 0. In each round, `work` gets this rank's part of the queue,
    /// and the number of tasks of all parts. It does as many tasks as it likes, and returns the tasks that are left and
    /// the new ones. Only the first `workers` ranks get a part. Collective.
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

    /// Collects a message of every rank, sorted by rank; rank 0 gets all of them. Collective.
    ///
    /// # Errors
    /// A rank does not answer.
    pub fn gather(&self, stop: StopFlag, own: Task) -> Result<Vec<(u32, Task)>, ClusterError> {
        let after_signal = AfterSignal::new(stop, &*self.cluster);
        let mut gathered = Gathered { messages: vec![(self.rank(), own)], missing: None };
        let reduced = self.cluster.reduce(&mut gathered, &after_signal.patience());
        let missing = gathered.missing.take().map_or(Ok(()), Err);
        reduced.and(missing).inspect_err(|_| self.break_off())?;
        gathered.messages.sort_by_key(|(rank, _)| *rank);
        Ok(gathered.messages)
    }

    fn broadcast_all(&self, stop: StopFlag, tasks: &[Task]) -> Result<Vec<Task>, ClusterError> {
        let after_signal = AfterSignal::new(stop, &*self.cluster);
        let sent = self.cluster.broadcast(packed(tasks), &after_signal.patience());
        let sent = sent.and_then(|sent| unpacked(&sent).ok_or(UNREADABLE));
        sent.inspect_err(|_| self.break_off())
    }
}

const UNREADABLE: ClusterError = ClusterError::Unexpected { rank: 0, what: "tasks that cannot be read" };

/// Packs tasks, each after its length.
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
        let (task, remaining) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        tasks.push(task.to_vec());
        all = remaining;
    }
    all.is_empty().then_some(tasks)
}

/// Messages of ranks, each with its rank.
struct Gathered {
    messages: Vec<(u32, Task)>,
    missing: Option<ClusterError>,
}

impl Reduction for Gathered {
    fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>) {
        let read =
            sent.and_then(|sent| unpacked(&sent).ok_or(ClusterError::Unexpected { rank: child, what: "no tasks" }));
        match read {
            Ok(all) => self.messages.extend(all.iter().filter_map(|message| {
                let (rank, message) = message.split_first_chunk()?;
                Some((u32::from_le_bytes(*rank), message.to_vec()))
            })),
            Err(error) => _ = self.missing.get_or_insert(error),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let messages = self.messages.iter().map(|(rank, message)| [&rank.to_le_bytes(), message.as_slice()].concat());
        packed(&messages.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects transmission: tasks of any bytes and lengths, also no task, and an error for truncated data.
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

    // Protects the reduction: a rank forwards the messages of its children, with their ranks.
    #[test]
    fn messages_of_ranks_are_forwarded() {
        let mut child = Gathered { messages: vec![(3, b"x".to_vec()), (7, Vec::new())], missing: None };
        let mut parent = Gathered { messages: vec![(1, b"y".to_vec())], missing: None };
        parent.absorb(3, Ok(child.bytes()));
        assert_eq!(parent.messages, [(1, b"y".to_vec()), (3, b"x".to_vec()), (7, Vec::new())]);
        parent.absorb(2, Ok(vec![1]));
        assert!(parent.missing.is_some());
    }
}
