//! Widths of letters. They are those of DejaVu Sans, which is wider than the fonts in which pages are shown, so that
//! text that fits here fits there.

/// Advance widths of the printable ASCII characters, in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];

/// Returns the width of a text, px.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match u32::from(c).checked_sub(32).and_then(|index| WIDTHS.get(index as usize)) {
        Some(width) => f64::from(*width) / 1000.0,
        // Letters of other scripts are as wide as capitals, or square.
        None if u32::from(c) < 0x1100 => 0.66,
        None => 1.0,
    };
    text.chars().map(of).sum::<f64>() * size
}

/// Cuts text with an ellipsis if it is wider than `room`.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if width(&cut, size) + size > room {
            cut.pop();
            break;
        }
    }
    format!("{}…", cut.trim_end())
}

/// Breaks text into lines no wider than `room`.
pub(crate) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if line.is_empty() || width(&longer, size) <= room {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_broken_at_their_width() {
        assert_eq!(fitted("raid4", 12.0, 100.0), "raid4");
        let cut = fitted("a very long name of a file system", 12.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 104.0, "{cut}");
        assert_eq!(wrapped("one two three", 10.0, 45.0), ["one two", "three"]);
        assert_eq!(wrapped("", 10.0, 45.0), [""]);
    }

    // Protects: the table has the widths of the embedded font.
    #[cfg(feature = "png")]
    #[test]
    fn widths_match_the_font() {
        let face = ttf_parser::Face::parse(crate::picture::FONT, 0).unwrap();
        for c in ' '..='~' {
            let advance = face.glyph_hor_advance(face.glyph_index(c).unwrap()).unwrap();
            let theirs = f64::from(advance) / f64::from(face.units_per_em());
            assert!((width(&c.to_string(), 1.0) - theirs).abs() < 0.0011, "{c:?}: {theirs}");
        }
    }
}
