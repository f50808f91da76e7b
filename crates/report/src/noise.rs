//! A noise floor as a page: the smallest difference that can be claimed, number by number, and what it comes from.

use crate::compare::{count, left_out, speeds};
use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use plumb_result::{Noise, NoiseFloor};

/// Where the text behind a floor begins.
const INDENT: usize = 15;

/// Whether later comparisons will know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// They will.
    Stored,
    /// It was not stored.
    Nowhere,
}

/// The whole page.
pub fn page(noise: &Noise, kept: Kept, style: &Style) -> String {
    let mut page = style.ink(Ink::Strong, &style.wrap(&noise.note, 0));
    page.push_str("\n\n");
    for floor in &noise.floors {
        page.push_str(&lines(floor, style));
    }
    if !noise.floors.is_empty() {
        page.push('\n');
        if (noise.planned as usize) > noise.floors.len() {
            let line = format!("{} of {} planned numbers are shown.", noise.floors.len(), noise.planned);
            page.push_str(&format!("  {}\n", style.wrap(&line, 2)));
        }
    }
    page.push_str(&noise.notes.iter().map(|note| crate::run::not_had(note, style)).collect::<String>());
    page.push_str(&left_out(&noise.left_out, style));
    if !noise.floors.is_empty() {
        let line = match kept {
            Kept::Stored => {
                "Kept: comparisons of this work at this place claim nothing below these floors, as long as machine and \
                 storage stay as they are."
            }
            Kept::Nowhere => "Not stored: comparisons will not know of these floors.",
        };
        page.push_str(&format!("{}\n", style.wrap(line, 0)));
    }
    page
}

fn lines(floor: &NoiseFloor, style: &Style) -> String {
    let head = format!(
        "{:14}  {:16}  {}",
        floor.phase,
        floor.metric.to_string(),
        style.wrap(&format!("differences below {} cannot be claimed here", format::percent(floor.floor)), INDENT)
    );
    let unit = floor.metric.unit();
    let value = match (floor.modes.as_slice(), floor.value) {
        ([], Some(value)) => format::value(value, unit),
        ([], None) => MISSING.to_owned(),
        (modes, _) => speeds(modes, unit),
    };
    let spread = floor.cv.map_or(String::new(), |cv| format!(" (spread {})", format::percent(cv)));
    let rest = format!(
        "{value}{spread} · against itself {}× (95 % {} – {}) over {}",
        format::fine_ratio(floor.log_ratio.exp()),
        format::fine_ratio((floor.log_ratio - floor.log_half_width).exp()),
        format::fine_ratio((floor.log_ratio + floor.log_half_width).exp()),
        count(floor.blocks, floor.unit, "")
    );
    let number = style.ink(Ink::Good, &format!("{:11}", format::percent(floor.floor)));
    let head = if INDENT + head.chars().count() <= style.width { head } else { style.wrap(&head, INDENT) };
    let indent = " ".repeat(INDENT);
    let rest: Vec<String> =
        style.wrap(&rest, INDENT).split(&format!("\n{indent}")).map(|line| style.ink(Ink::Faint, line)).collect();
    format!("  {number}  {head}\n{indent}{}\n", rest.join(&format!("\n{indent}")))
}
