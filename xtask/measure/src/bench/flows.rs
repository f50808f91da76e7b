//! Compares flows with bare system calls, and measures memory against file size and op count.

use super::Options;
use super::bare::{self, FILES, NamesFrom, Rates, WIDTH};
use super::memory;
use super::plumb::Plumb;
use super::rounds::{Bar, Row, Series, table};
use anyhow::{Context, Result};
use std::path::Path;
use std::time::Duration;

/// Memory only: the cost of a device would hide that of the loop.
const WHERE: &str = "/dev/shm";

/// Minimum ratio of Plumb's rate to the bare loop's: at most 5 % slower.
const BAR: Bar = Bar::AtLeast(0.95);

const PAUSE: Duration = Duration::from_millis(300);

/// Runs `cargo xtask bench flows`.
pub(crate) fn flows(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let folder = tempfile::tempdir_in(WHERE).with_context(|| format!("a directory in {WHERE}"))?;
    let workload = folder.path().join("flows.toml");
    std::fs::write(&workload, workload_text()).with_context(|| format!("writing {}", workload.display()))?;
    println!(
        "plumb's flow against the same system calls in a loop, {FILES} files on tmpfs, {} rounds in turn",
        options.rounds()
    );

    // The kernel frees removed files later, in the background: this must not slow down the next run.
    let pause = || std::thread::sleep(PAUSE);
    let own = || {
        pause();
        own_rates(&plumb, &workload, folder.path())
    };
    let bare = |names| {
        pause();
        bare_rates(folder.path(), names)
    };
    let (mut owns, mut with_numbers, mut with_memory) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..options.rounds() {
        if round % 2 == 0 {
            owns.push(own()?);
            with_numbers.push(bare(NamesFrom::Numbers)?);
            with_memory.push(bare(NamesFrom::Memory)?);
        } else {
            with_memory.push(bare(NamesFrom::Memory)?);
            with_numbers.push(bare(NamesFrom::Numbers)?);
            owns.push(own()?);
        }
        println!("  {}  plumb {}   bare {}", round + 1, line(&owns[round]), line(&with_numbers[round]));
    }

    type Part = fn(&Rates) -> super::rounds::Speed;
    let parts: [(&str, Part); 3] =
        [("create, close", |rates| rates.create), ("stat", |rates| rates.stat), ("unlink", |rates| rates.unlink)];
    let mut rows: Vec<Row> = Vec::new();
    for (case, part) in parts {
        let series = |all: &[Rates]| -> Series { all.iter().map(part).collect() };
        rows.push(Row::new(case, "bare loop", &series(&owns), &series(&with_numbers), BAR));
        rows.push(Row::new(case, "bare, names ready", &series(&owns), &series(&with_memory), Bar::Shown));
    }
    table(&rows);
    println!();
    for row in &rows {
        row.sentence().inspect(|sentence| println!("{sentence}"));
    }
    memory::show(&plumb, folder.path())
}

fn workload_text() -> String {
    let phase = |name: &str, steps: &str| {
        format!(
            "[[phase]]\nname = \"{name}\"\nend.flush = \"none\"\n[[phase.workers]]\ntarget = \"t\"\n\
             limit.passes = {FILES}\nwork.program.steps = [{steps}]\n"
        )
    };
    format!(
        "name = \"flows\"\n[target.t.tree]\npath = \"t\"\nfiles = {FILES}\nwidth = {WIDTH}\ndepth = 1\nsize = \"0\"\n\
         preallocated-percent = 0\n{}{}{}",
        phase("create", "\"create\", \"close\""),
        phase("stat", "{ stat = { file = \"sequential\" } }"),
        phase("unlink", "{ unlink = { file = \"sequential\" } }")
    )
}

fn own_rates(plumb: &Plumb, workload: &Path, folder: &Path) -> Result<Rates> {
    let phases = plumb.run(workload, folder)?;
    let [create, stat, unlink] = phases.as_slice() else { anyhow::bail!("{} phases, expected 3", phases.len()) };
    Ok(Rates {
        create: create.speed("create.ops")?,
        stat: stat.speed("stat.ops")?,
        unlink: unlink.speed("unlink.ops")?,
    })
}

fn bare_rates(folder: &Path, names: NamesFrom) -> Result<Rates> {
    let folder = tempfile::tempdir_in(folder)?;
    bare::run(folder.path(), names)
}

fn line(rates: &Rates) -> String {
    let thousands = |speed: super::rounds::Speed| format!("{:.0}", speed.ops_per_second / 1e3);
    format!("{}/{}/{} k/s", thousands(rates.create), thousands(rates.stat), thousands(rates.unlink))
}
