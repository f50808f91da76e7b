//! `--profile`: jobs that fio brings along. Facts: what fio 3.42 does with `--profile=tiobench`.

use super::error::{FioError, WordLocation};
use super::jobfile::{OptionLine, Section, SectionKind};

/// Bytes of what the profile calls a size of 1.
const SIZE_UNIT: &str = "m";

/// What the profile's own options say. fio reads them, and then runs with its defaults all the same; here they count.
struct Said {
    size: String,
    block: String,
    runs: String,
    directory: String,
    threads: String,
}

/// The text of a profile's jobs, with what the command line says for it taken out of its sections.
///
/// # Errors
/// There is no such profile here.
pub(super) fn jobs(profile: &str, sections: &mut [Section], place: &WordLocation) -> Result<String, Box<FioError>> {
    match profile {
        "tiobench" => Ok(tiobench(sections)),
        "act" => Err(Box::new(FioError::OptionNotYet {
            place: place.clone(),
            option: "--profile=act".to_owned(),
            why: "certification of devices by act is not implemented.",
        })),
        other => Err(Box::new(FioError::BadWord {
            place: place.clone(),
            option: "profile",
            text: other.to_owned(),
            reason: format!("profile '{other}' not found; use tiobench"),
        })),
    }
}

fn tiobench(sections: &mut [Section]) -> String {
    let mut take = |name: &str| take(sections, name);
    let said = Said {
        size: take("size").map_or_else(|| "4*1024*$mb_memory".to_owned(), |size| format!("{size}{SIZE_UNIT}")),
        block: take("block").unwrap_or_else(|| "4096".to_owned()),
        runs: take("numruns").unwrap_or_else(|| "1".to_owned()),
        directory: take("dir").unwrap_or_else(|| "./".to_owned()),
        threads: take("threads").unwrap_or_else(|| "1".to_owned()),
    };
    let Said { size, block, runs, directory, threads } = said;
    format!(
        "[global]\nbuffered=0\nsize={size}\nbs={block}\nloops={runs}\ndirectory={directory}\nnumjobs={threads}\nruntime=600\n\
         group_reporting\nthread\noverwrite=1\nfilename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4\nioengine=sync\n\
         [seqwrite]\nrw=write\nend_fsync=1\n[randwrite]\nstonewall\nrw=randwrite\nend_fsync=1\n\
         [seqread]\nstonewall\nrw=read\n[randread]\nstonewall\nrw=randread\n"
    )
}

/// The last value of an option of the command line's global sections, which it is taken out of.
fn take(sections: &mut [Section], name: &str) -> Option<String> {
    let mut found = None;
    for section in sections.iter_mut().filter(|section| section.kind == SectionKind::Global) {
        let is_it = |line: &OptionLine| line.name == name;
        if let Some(line) = section.lines.iter().rfind(|line| is_it(line)) {
            found.clone_from(&line.text);
        }
        section.lines.retain(|line| !is_it(line));
    }
    found
}
