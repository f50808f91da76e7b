//! Rate and CPU time per op as functions of the number of jobs and of the depth, in Plumb and in fio: random 4 KiB
//! reads from memory and with O_DIRECT.

use super::Options;
use super::dialect::{Bench, Tool, lay_out, timed};
use super::fio::version;
use super::plumb::Plumb;
use super::rounds::{Speed, median, rate};
use crate::mount::{LoopDevice, LoopMode};
use anyhow::Result;
use std::path::Path;

/// Three rounds of two seconds for each of 32 points and both programs take seven minutes.
const ROUNDS: usize = 3;

const JOBS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The quantity that grows from point to point.
#[derive(Clone, Copy)]
enum Axis {
    Jobs,
    Depth,
}

impl Axis {
    fn points(self) -> &'static [u32] {
        match self {
            Axis::Jobs => &JOBS,
            Axis::Depth => &DEPTHS,
        }
    }

    fn words(self, point: u32) -> [String; 2] {
        match self {
            Axis::Jobs => [format!("--numjobs={point}"), "--ioengine=psync".to_owned()],
            Axis::Depth => [format!("--iodepth={point}"), "--ioengine=io_uring".to_owned()],
        }
    }
}

/// Prints a series for jobs and for depth, cached and with O_DIRECT.
///
/// # Errors
/// A command fails.
pub(crate) fn scaling(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let bench = Bench { plumb: &plumb, folder: tempfile::tempdir_in(xtask::tools::target_directory())? };
    let rounds = options.rounds_or(ROUNDS);
    println!(
        "plumb as fio against {}: medians of {rounds} rounds in turn, random 4 KiB reads of 256 MiB",
        version(Path::new("fio"))?
    );
    let data = bench.folder.path().join("data");
    lay_out(&data)?;
    let device = LoopDevice::attach(&data, LoopMode::ReadOnly);
    let file = format!("--filename={}", data.display());
    let mut places = vec![("cached", vec![file.clone(), "--invalidate=0".to_owned()])];
    match &device {
        Some(device) => {
            let node = format!("--filename={}", device.node());
            places.push(("O_DIRECT, loop device", vec![node, "--direct=1".to_owned()]));
        }
        None => {
            println!("no loop device is available (root is needed): O_DIRECT on the file");
            places.push(("O_DIRECT, file", vec![file, "--direct=1".to_owned()]));
        }
    }
    for (axis, what) in [(Axis::Jobs, "jobs of psync"), (Axis::Depth, "depth of io_uring")] {
        for (place, at) in &places {
            let name = format!("{what}, {place}");
            if !options.wants(&name) {
                continue;
            }
            println!("\n{name}");
            println!("{:>6}  {:>11}  {:>11}  {:>6}  {:>14}  {:>9}", "", "plumb", "fio", "ratio", "plumb CPU/op", "fio");
            for &point in axis.points() {
                let mut words =
                    timed(&["--name=s", "--thread", "--rw=randread", "--bs=4k", "--size=256m", "--norandommap"]);
                words.extend(axis.words(point));
                words.extend(at.iter().cloned());
                line(point, &series(&bench, &words, rounds)?);
            }
        }
    }
    Ok(())
}

/// Returns Plumb's speed and fio's, by round.
fn series(bench: &Bench<'_>, words: &[String], rounds: usize) -> Result<Vec<[Speed; 2]>> {
    let turn = |round: usize| -> Result<[Speed; 2]> {
        Ok(if round.is_multiple_of(2) {
            let own = bench.speed(Tool::Plumb(bench.plumb), words)?;
            [own, bench.speed(Tool::Fio, words)?]
        } else {
            let other = bench.speed(Tool::Fio, words)?;
            [bench.speed(Tool::Plumb(bench.plumb), words)?, other]
        })
    };
    (0..rounds).map(turn).collect()
}

fn line(point: u32, series: &[[Speed; 2]]) {
    let of = |pick: fn(&[Speed; 2]) -> f64| median(series.iter().map(pick));
    println!(
        "{point:6}  {:>11}  {:>11}  {:>5.2}×  {:>11.2} µs  {:>6.2} µs",
        rate(of(|pair| pair[0].ops_per_second)),
        rate(of(|pair| pair[1].ops_per_second)),
        of(|pair| pair[0].ops_per_second / pair[1].ops_per_second),
        of(|pair| pair[0].cpu_ns) / 1e3,
        of(|pair| pair[1].cpu_ns) / 1e3
    );
}
