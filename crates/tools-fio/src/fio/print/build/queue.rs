//! Histograms of queue depths and batches, in fio's classes.

use crate::fio::print::report::{Depths, Figure};
use plumb_result::WorkerMeasurement;
use plumb_result::measurement::QueueCounts;

const CLASSES: usize = 7;

/// Returns the class of a number of ops in flight: 1, 2–3, 4–7, and so on to 64 and more.
fn level(depth: usize) -> usize {
    (depth.max(1).ilog2() as usize).min(CLASSES - 1)
}

/// Returns the class of a batch: none, 1–4, 5–8, and so on to more than 64.
fn batch(size: usize) -> usize {
    match size {
        0 => 0,
        1..=4 => 1,
        size => ((size - 1).ilog2() as usize).min(CLASSES - 1),
    }
}

/// Sums levels and batches of all these workers. A worker without a queue has one op in flight.
pub(super) fn depths(workers: &[&WorkerMeasurement]) -> Depths {
    let mut rows = [[0u64; CLASSES]; 3];
    for worker in workers {
        match &worker.queue {
            Some(QueueCounts { depth, submitted, completed }) => {
                add(&mut rows[0], depth, level);
                add(&mut rows[1], submitted, batch);
                add(&mut rows[2], completed, batch);
            }
            None if worker.depth_asked <= 1 => {
                rows[0][level(1)] += worker.count;
                rows[1][batch(1)] += worker.count;
                rows[2][batch(1)] += worker.count;
            }
            None => return unknown(),
        }
    }
    let [level, submit, complete] = rows.map(shares);
    Depths { level, submit, complete }
}

fn add(row: &mut [u64; CLASSES], counts: &[u64], class: fn(usize) -> usize) {
    for (size, count) in counts.iter().enumerate() {
        row[class(size)] += count;
    }
}

fn shares(row: [u64; CLASSES]) -> Figure<[f64; CLASSES]> {
    match row.iter().sum::<u64>() {
        0 => Figure::Off,
        all => Figure::Is(row.map(|count| count as f64 * 100.0 / all as f64)),
    }
}

fn unknown() -> Depths {
    let why = |what: &str| Figure::Unknown(format!("{what} of its workers were not counted"));
    Depths { level: why("ops in flight"), submit: why("submitted batches"), complete: why("completed batches") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes as in fio's manual.
    #[test]
    fn depths_and_batches_fall_into_fios_classes() {
        assert_eq!([1, 2, 3, 4, 8, 31, 32, 64, 900].map(level), [0, 1, 1, 2, 3, 4, 5, 6, 6]);
        assert_eq!([0, 1, 4, 5, 8, 9, 16, 17, 33, 64, 65, 900].map(batch), [0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6]);
    }

    #[test]
    fn a_worker_with_a_queue_and_one_without_are_counted_together() {
        let queue = QueueCounts { depth: vec![0, 10, 20], submitted: vec![0, 0, 15], completed: vec![3, 30] };
        let queued = WorkerMeasurement { queue: Some(queue), depth_asked: 2, ..WorkerMeasurement::default() };
        let plain = WorkerMeasurement { count: 30, depth_asked: 1, ..WorkerMeasurement::default() };
        let both = depths(&[&queued, &plain]);
        let percent = |row: &Figure<[f64; CLASSES]>| row.value().unwrap().map(f64::round);
        assert_eq!(percent(&both.level), [67.0, 33.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(percent(&both.submit), [0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(percent(&both.complete)[0], 5.0);
    }
}
