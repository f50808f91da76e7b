//! The surface of a test as a heat map of block characters.

use super::report::Surface;

/// From nothing to the most.
const SHADES: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Cache sizes, kB; 0 if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edges {
    /// The processor's last cache.
    pub cache_kb: u64,
    /// The machine's memory.
    pub memory_kb: u64,
}

impl Edges {
    /// What a file of this size is beyond, and the one before it is not.
    pub fn between(&self, before_kb: Option<u64>, file_kb: u64) -> Option<&'static str> {
        let crosses = |edge: u64| edge > 0 && file_kb > edge && before_kb.is_none_or(|before| before <= edge);
        match (crosses(self.memory_kb), crosses(self.cache_kb)) {
            (true, _) => Some("beyond memory"),
            (false, true) => Some("beyond the processor's cache"),
            (false, false) => None,
        }
    }
}

/// How hot a value is, from 0 to 1, on a scale of powers: rates of caches and of devices are far apart.
pub fn heat(value: f64, least: f64, most: f64) -> f64 {
    if value <= 0.0 || least <= 0.0 || most <= least {
        return if value > 0.0 { 1.0 } else { 0.0 };
    }
    ((value / least).ln() / (most / least).ln()).clamp(0.0, 1.0)
}

/// The smallest and the largest value that are not 0.
pub fn range(surface: &Surface) -> Option<(f64, f64)> {
    let values = surface.rows.iter().flat_map(|(_, values)| values).copied().filter(|value| *value > 0.0);
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, most)) => Some((f64::min(least, value), f64::max(most, value))),
    })
}

/// The map of one surface: a row a file size, a column a record size.
pub fn map(surface: &Surface, edges: Edges, unit: &str) -> String {
    let Some((least, most)) = range(surface) else { return String::new() };
    let mut text = format!("{} ({least:.0} to {most:.0} {unit})\n{:>10} ", surface.title(), "kB");
    for record_kb in &surface.records_kb {
        text.push_str(&format!("{record_kb:>6}"));
    }
    text.push('\n');
    let mut before = None;
    for (file_kb, values) in &surface.rows {
        if let Some(edge) = edges.between(before, *file_kb) {
            text.push_str(&format!("{:>10} ┄┄ {edge}\n", ""));
        }
        before = Some(*file_kb);
        text.push_str(&format!("{file_kb:>10} "));
        for value in values {
            let shade = match *value > 0.0 {
                true => SHADES[1 + (heat(*value, least, most) * 7.0).round() as usize],
                false => '·',
            };
            text.push_str(&format!("  {}", shade.to_string().repeat(4)));
        }
        text.push('\n');
    }
    text
}
