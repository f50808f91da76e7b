//! IOzone: its text, the report of `-R` and the spreadsheet of `-b`, read by the dialect's reader. KB are KiB.

use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_tools_classic::iozone::published;

/// Start of a raw BIFF 2 sheet: its first record, with the version.
const SHEET: [u8; 6] = [9, 0, 4, 0, 2, 0];

pub(super) fn recognises(input: &Input<'_>) -> bool {
    let is_table = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        matches!(words.as_slice(), ["KB" | "kB", "reclen", ..])
    };
    input.bytes.starts_with(&SHEET[..4])
        || input.has("Iozone: Performance Test of File I/O")
        || input.has_line("\"Writer report\"")
        || input.head().lines().any(is_table)
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let is_sheet = input.bytes.starts_with(&SHEET[..4]);
    if is_sheet && input.bytes.len() > 4 && input.bytes.get(4..6) != Some(&SHEET[4..]) {
        return Err(unread("byte 4", "a spreadsheet that is not BIFF 2", "save it as text, or pass IOzone's own file"));
    }
    let text = input.text();
    let mut run = Run::new(match (is_sheet, text.contains("\"Writer report\"")) {
        (true, _) => "BIFF 2",
        (false, true) => "report of -R",
        (false, false) => "text",
    });
    if !is_sheet {
        let after = |before: &str| text.split_once(before)?.1.lines().next().map(str::trim);
        run.version = after("$Revision: ").unwrap_or_default().trim_end_matches(['$', ' ']).to_owned();
        run.command = after("Command line used: ").map(str::to_owned);
        if text.contains("O_DIRECT feature enabled") {
            run.set("O_DIRECT", Some("enabled"));
        }
        if text.contains("Include fsync in write timing") {
            run.set("fsync", Some("in the time of writes"));
        }
    }
    for number in published(input.bytes)? {
        let sizes = number.conditions.strip_prefix("iozone, ").unwrap_or(&number.conditions);
        let phase = run.phase(format!("{} {sizes}", number.kind.name()));
        match number.metric() {
            Some(metric) => phase.metric(metric, Some(number.value)),
            None => phase.number("rate", Some(number.value), number.unit.symbol(), Some(number.kind.better())),
        }
    }
    Ok(vec![run])
}
