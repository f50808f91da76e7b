//! Prints jobs as command lines again (`--showcmd`).

use super::Fio;
use super::job::{InputOption, JobSection};
use super::options::job::{NAME, STONEWALL};

/// Formats one line: the options of the global sections, then each job with its own options. Words are
/// quoted for a shell if needed, so that the line can be pasted; fio itself does not quote. As in fio,
/// an alias becomes the option's own name.
pub fn line(fio: &Fio) -> String {
    let mut words = vec!["fio".to_owned()];
    let mut global_count = 0;
    for (index, job) in fio.jobs.iter().enumerate() {
        // Global options since the previous job. fio prints them at their position.
        let JobSection { name, opens_file, from_global, options } = &job.section;
        let fresh = &from_global[global_count.min(from_global.len())..];
        if !fresh.is_empty() && index > 0 {
            words.push("--name=global".to_owned());
        }
        words.extend(fresh.iter().map(word));
        global_count = from_global.len();
        words.push(quoted(&format!("--name={name}")));
        words.extend(options.iter().filter(|given| !(NAME.is(given.option) && given.is_of_section(name))).map(word));
        if *opens_file && !options.iter().any(|given| STONEWALL.is(given.option)) {
            words.push("--stonewall".to_owned());
        }
    }
    words.join(" ")
}

impl InputOption {
    fn is_of_section(&self, section: &str) -> bool {
        self.text.as_deref() == Some(section)
    }
}

fn word(given: &InputOption) -> String {
    quoted(&match &given.text {
        Some(text) => format!("--{}={text}", given.option.name),
        None => format!("--{}", given.option.name),
    })
}

/// Quotes a word for a shell if needed.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%@+^".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
