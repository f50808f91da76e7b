//! Parses the command line, option by option.

use super::conclude::conclude;
use super::sizes::SizesSeen;
use super::take::take;
use super::{IozoneSettings, Seen};
use crate::iozone::getopt::{ReadOption, Words};
use crate::iozone::{Action, IozoneUsageError, Machine, help};

/// Returns the reason why Plumb does not support an option, if so.
fn refusal(name: &str) -> Option<&'static str> {
    Some(match name {
        "+m" | "+c" | "+s" | "+i" | "+h" => "cluster mode (-+m) is not supported yet; run it on each machine",
        "+t" => "the network test (-+t) belongs to cluster mode, which is not supported yet; use iperf3",
        "+H" | "+P" => "time comes from this machine's own nanosecond clock; remove -+H and -+P",
        "+M" | "+Q" | "+S" | "+W" => "this deduplication option is not supported; use -+w, -+y, -+C and -+a",
        _ => return None,
    })
}

/// Parses a command line without the program's name.
///
/// # Errors
///
/// The error, with IOzone's exit code.
pub fn read(words: &[String], machine: &mut dyn Machine) -> Result<Action, IozoneUsageError> {
    let mut settings = IozoneSettings::new();
    settings.children.processors = machine.processors().max(1);
    let (own, words): (Vec<String>, Vec<String>) =
        words.iter().cloned().partition(|word| word.len() > 2 && word.starts_with("--"));
    let words = own_words(&mut settings, &own, &words)?;
    if words.is_empty() {
        return Err(IozoneUsageError::say(255, "\tUsage: For usage information type iozone -h \n\n"));
    }
    let mut seen = Seen { sizes: SizesSeen { times: 2, ..SizesSeen::default() }, ..Seen::default() };
    let mut parted = Words::new(&words);
    while let Some(option) = parted.next()? {
        if let Some(why) = refusal(option.name) {
            return Err(IozoneUsageError::refuse(2, why));
        }
        match option.name {
            "h" => return Ok(Action::Print(help::text())),
            "v" => return Ok(Action::Print(help::version())),
            "F" => named_files(&mut settings, &mut seen, &option, &mut parted)?,
            "+R" => listed_files(&mut settings, &mut seen, &option, &mut parted, machine)?,
            _ => take(&mut settings, &mut seen, &option, machine)?,
        }
    }
    conclude(&mut settings, seen)?;
    Ok(Action::Run(Box::new(settings)))
}

/// Removes Plumb's own options; the file of `--xlsx FILE` may be the next argument.
fn own_words(settings: &mut IozoneSettings, own: &[String], words: &[String]) -> Result<Vec<String>, IozoneUsageError> {
    let words = words.to_vec();
    for word in own {
        let (name, value) = match word[2..].split_once('=') {
            Some((name, value)) => (name, value),
            None => (&word[2..], ""),
        };
        match name {
            "compat" if value == "strict" => settings.strict = true,
            "xlsx" if !value.is_empty() => settings.reports.xlsx = Some(value.to_owned()),
            "repeat" => {
                settings.repeat = value.parse().ok().filter(|count| (1..=1000).contains(count)).ok_or_else(|| {
                    IozoneUsageError::refuse(2, format!("--repeat={value}: use a number from 1 to 1000"))
                })?;
            }
            "help" => return Err(IozoneUsageError::say(0, help::text())),
            _ => {
                return Err(IozoneUsageError::refuse(
                    255,
                    format!("unknown option --{name}; use --compat=strict, --xlsx=FILE or --repeat=N"),
                ));
            }
        }
    }
    Ok(words)
}

fn named_files(
    settings: &mut IozoneSettings,
    seen: &mut Seen,
    option: &ReadOption,
    parted: &mut Words,
) -> Result<(), IozoneUsageError> {
    seen.files.named = true;
    if seen.files.one {
        return Err(IozoneUsageError::say(11, "invalid options: -f and -F are mutually exclusive\n"));
    }
    if !seen.children.throughput {
        return Err(IozoneUsageError::say(12, "invalid options: must specify -t N before -F\n"));
    }
    let wanted = most_children(seen) as usize;
    settings.files.files = option.value.iter().cloned().collect();
    settings.files.files.extend(parted.take(wanted.saturating_sub(1)));
    if settings.files.files.len() < wanted {
        return Err(IozoneUsageError::say(13, format!("invalid options: not enough filenames for {wanted} streams\n")));
    }
    Ok(())
}

/// Reads the names of the children's files from a file.
fn listed_files(
    settings: &mut IozoneSettings,
    seen: &mut Seen,
    option: &ReadOption,
    parted: &mut Words,
    machine: &mut dyn Machine,
) -> Result<(), IozoneUsageError> {
    let path = option.value.as_deref().unwrap_or_default();
    let text = machine.file(path).map_err(|why| {
        // IOzone prints the word that follows; Plumb adds the file and the reason.
        let next = parted.take(1).pop().unwrap_or_else(|| "(null)".to_owned());
        IozoneUsageError {
            out: format!("Failed to stat the iozone input file: {next}\n"),
            err: format!("iozone: -+R {path}: {why}\n"),
            code: 2,
        }
    })?;
    let wanted = if seen.children.throughput { most_children(seen) as usize } else { 0 };
    seen.files.named = true;
    settings.files.files = text.split_whitespace().map(str::to_owned).collect();
    if wanted == 0 || settings.files.files.len() < wanted {
        return Err(IozoneUsageError::say(13, format!("invalid options: not enough filenames for {wanted} streams\n")));
    }
    settings.files.files.truncate(wanted);
    Ok(())
}

fn most_children(seen: &Seen) -> u32 {
    seen.children.counts.iter().copied().chain(seen.children.upper).chain(seen.children.lower).max().unwrap_or(1)
}
