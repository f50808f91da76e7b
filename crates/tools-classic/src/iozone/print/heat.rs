//! Draws the surface of a test as a heat map of block characters.

use super::report::Surface;
use plumb_text::visible::colour;

/// Shades from nothing to the maximum.
const SHADES: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Sizes of caches and memory in kB; 0 if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edges {
    pub cache_kb: u64,
    pub memory_kb: u64,
}

impl Edges {
    /// Returns a label if a file of this size exceeds the cache or memory and the previous file does not.
    pub fn between(&self, before_kb: Option<u64>, file_kb: u64) -> Option<&'static str> {
        let crosses = |edge: u64| edge > 0 && file_kb > edge && before_kb.is_none_or(|before| before <= edge);
        match (crosses(self.memory_kb), crosses(self.cache_kb)) {
            (true, _) => Some("beyond memory"),
            (false, true) => Some("beyond the processor's cache"),
            (false, false) => None,
        }
    }
}

/// Returns a value's position on a logarithmic scale, from 0 to 1: rates of caches and
/// of devices differ by orders of magnitude.
pub fn heat(value: f64, least: f64, most: f64) -> f64 {
    if value <= 0.0 || least <= 0.0 || most <= least {
        return if value > 0.0 { 1.0 } else { 0.0 };
    }
    ((value / least).ln() / (most / least).ln()).clamp(0.0, 1.0)
}

/// Returns the smallest and the largest value, ignoring zeros.
pub fn range(surface: &Surface) -> Option<(f64, f64)> {
    let values = surface.rows.iter().flat_map(|(_, values)| values).copied().filter(|value| *value > 0.0);
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, most)) => Some((f64::min(least, value), f64::max(most, value))),
    })
}

/// Whether a map has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// One colour; the height of the blocks differs.
    Never,
    /// From blue to red, in the 256 terminal colours.
    Ansi256,
}

/// From the lowest rate to the highest, from cold to hot, like the workbook's scale.
const SCALE: [u8; 8] = [27, 33, 43, 77, 148, 220, 208, 196];

/// Draws the map of one surface: a row per file size, a column per record size.
pub fn map(surface: &Surface, edges: Edges, unit: &str, colours: Colours) -> String {
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
            let step = (*value > 0.0).then(|| (heat(*value, least, most) * 7.0).round() as usize);
            let cell = step.map_or('·', |step| SHADES[1 + step]).to_string().repeat(4);
            match (step, colours) {
                (Some(step), Colours::Ansi256) => {
                    text.push_str(&format!("  {}{cell}{}", colour(&format!("38;5;{}", SCALE[step])), colour("0")));
                }
                _ => text.push_str(&format!("  {cell}")),
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iozone::pass::Pass;

    // Protects the map: with colours, hot is red and cold is blue; without, the height shows the same.
    #[test]
    fn a_map_has_colours_where_there_are_any() {
        let rows = vec![(64, vec![1000.0, 100_000.0]), (128, vec![0.0, 10_000.0])];
        let surface = Surface { pass: Pass::Write, records_kb: vec![4, 8], rows, is_cpu: false };
        let plain = map(&surface, Edges::default(), "kB/s", Colours::Never);
        assert!(plain.contains("▁▁▁▁  ████") && plain.contains("····  ▅▅▅▅") && !plain.contains('\x1b'), "{plain}");
        let coloured = map(&surface, Edges::default(), "kB/s", Colours::Ansi256);
        let coloured = plumb_text::visible(&coloured);
        let cells = ["\x1b[38;5;27m▁▁▁▁\x1b[0m", "\x1b[38;5;196m████\x1b[0m", "  ····"];
        cells.iter().for_each(|cell| assert!(coloured.contains(cell), "{coloured}"));
    }
}
