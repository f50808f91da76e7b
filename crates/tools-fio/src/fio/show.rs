//! Jobs as command lines again (`--showcmd`).

use super::Fio;
use super::job::{JobSection, SaidOption};
use super::options::job::{NAME, STONEWALL};

/// One line: what the global sections said, then each job with its own options. A word that a shell would take apart is
/// quoted, so that the line can be pasted; fio itself does not quote. An alias becomes the option's own name, as in fio.
pub fn line(fio: &Fio) -> String {
    let mut words = vec!["fio".to_owned()];
    let mut global_count = 0;
    for (index, job) in fio.jobs.iter().enumerate() {
        // Global options that came since the job before; fio prints them where they stand.
        let JobSection { name, opens_file, from_global, said } = &job.section;
        let fresh = &from_global[global_count.min(from_global.len())..];
        if !fresh.is_empty() && index > 0 {
            words.push("--name=global".to_owned());
        }
        words.extend(fresh.iter().map(word));
        global_count = from_global.len();
        words.push(quoted(&format!("--name={name}")));
        words.extend(said.iter().filter(|said| !(NAME.is(said.option) && said.is_of_section(name))).map(word));
        if *opens_file && !said.iter().any(|said| STONEWALL.is(said.option)) {
            words.push("--stonewall".to_owned());
        }
    }
    words.join(" ")
}

impl SaidOption {
    fn is_of_section(&self, section: &str) -> bool {
        self.text.as_deref() == Some(section)
    }
}

fn word(said: &SaidOption) -> String {
    quoted(&match &said.text {
        Some(text) => format!("--{}={text}", said.option.name),
        None => format!("--{}", said.option.name),
    })
}

/// Quoted for a shell, where it needs to be.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%@+^".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
