//! Lists of file names, CPUs, NUMA nodes and decimals.

use super::reading::ValueError;

/// Highest accepted number of a CPU or node.
const MOST_CPUS: u32 = 16_384;

/// Suffixes that mark the name of a simulated device of `sim`.
const MODELS: [&str; 4] = [":hdd", ":ssd", ":nvme", ":ram"];

/// Splits colon-separated names. `\:` is a colon inside a name, and so is the colon of a simulated device.
pub fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let is_model = || MODELS.iter().any(|model| text[at..].starts_with(model));
        match (c, characters.peek()) {
            ('\\', Some((_, ':'))) => {
                characters.next();
                names.last_mut().expect("there is always one").push(':');
            }
            (':', _) if names.last().is_some_and(|name| name == "sim") && is_model() => {
                names.last_mut().expect("there is always one").push(':');
            }
            (':', _) => names.push(String::new()),
            (c, _) => names.last_mut().expect("there is always one").push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Parses numbers and ranges: `0,5,8-15`. Each appears once, in order.
pub fn cpus(text: &str) -> Result<Vec<u32>, ValueError> {
    let number = |text: &str| match text.trim().parse::<u32>() {
        Ok(number) if number < MOST_CPUS => Ok(number),
        Ok(number) => {
            Err(ValueError::OutOfBounds { value: number.to_string(), bounds: format!("0 to {}", MOST_CPUS - 1) })
        }
        Err(_) => Err(ValueError::NotANumber { text: text.to_owned() }),
    };
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return Err(ValueError::grammar(format!("the range {first}-{last} is reversed")));
        }
        cpus.extend(first..=last);
    }
    if cpus.is_empty() {
        return Err(ValueError::Missing);
    }
    cpus.sort();
    cpus.dedup();
    Ok(cpus)
}

/// The NUMA nodes that buffers are allocated on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NumaPolicy {
    #[default]
    Default,
    Local,
    /// This node, as long as it has room.
    Prefer(u32),
    Bind(Vec<u32>),
    /// These nodes in turn; all if the list is empty.
    Interleave(Vec<u32>),
}

pub fn numa_policy(text: &str) -> Result<NumaPolicy, ValueError> {
    const WORDS: &[&str] = &["default", "prefer", "bind", "interleave", "local"];
    let (word, nodes) = match text.split_once(':') {
        Some((word, nodes)) => (word, Some(nodes)),
        None => (text, None),
    };
    match (word, nodes) {
        ("default", None) => Ok(NumaPolicy::Default),
        ("local", None) => Ok(NumaPolicy::Local),
        ("default" | "local", Some(_)) => Err(ValueError::grammar(format!("`{word}` does not take nodes"))),
        ("prefer", Some(node)) => match cpus(node)?.as_slice() {
            [node] => Ok(NumaPolicy::Prefer(*node)),
            _ => Err(ValueError::grammar("`prefer` takes one node")),
        },
        ("bind", Some(nodes)) => cpus(nodes).map(NumaPolicy::Bind),
        ("prefer" | "bind", None) => Err(ValueError::grammar(format!("`{word}` needs nodes, such as {word}:0"))),
        ("interleave", None | Some("all")) => Ok(NumaPolicy::Interleave(Vec::new())),
        ("interleave", Some(nodes)) => cpus(nodes).map(NumaPolicy::Interleave),
        (word, _) => Err(ValueError::not_a_choice(word, WORDS)),
    }
}

pub fn floats(text: &str, most: usize, bounds: Option<(f64, f64)>) -> Result<Vec<f64>, ValueError> {
    let mut figures = Vec::new();
    for part in text.split(':').map(str::trim) {
        let figure: f64 = match part.trim_end_matches('%').parse() {
            Ok(figure) if f64::is_finite(figure) => figure,
            _ => return Err(ValueError::NotANumber { text: part.to_owned() }),
        };
        if let Some((low, high)) = bounds
            && (figure < low || figure > high)
        {
            let bounds = format!("{low} to {high}");
            return Err(ValueError::OutOfBounds { value: figure.to_string(), bounds });
        }
        figures.push(figure);
    }
    if figures.len() > most {
        return Err(ValueError::TooMany { most });
    }
    Ok(figures)
}
