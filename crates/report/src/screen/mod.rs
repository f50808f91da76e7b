//! Parts of the full screens, as widgets of ratatui: lines, bars, gauges and tables.

mod devices;
mod grid;

pub use devices::DeviceHistory;
pub(crate) use devices::{DeviceTable, latency, ops, queue_depth, rate};
pub(crate) use grid::Grid;

use crate::format;
use crate::measure;
use crate::style::{Colour, Ink};
use crate::table::{Align, Column};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;
use ratatui::text::Line;
use ratatui::widgets::{LineGauge, RenderDirection, Sparkline, Widget};

impl Colour {
    /// Returns the attributes of a cell that is drawn in an ink.
    pub(crate) fn cell(self, ink: Ink) -> Style {
        let style = Style::new();
        match (self, ink) {
            (Colour::Never, _) => style,
            (Colour::Ansi, Ink::Strong) => style.add_modifier(Modifier::BOLD),
            (Colour::Ansi, Ink::Faint) => style.add_modifier(Modifier::DIM),
            (Colour::Ansi, Ink::Good) => style.fg(Color::Green),
            (Colour::Ansi, Ink::Caution) => style.fg(Color::Yellow),
            (Colour::Ansi, Ink::Bad) => style.fg(Color::Red),
        }
    }
}

/// Returns a line cut to a width in columns, with hidden characters escaped: a `Buffer` drops them silently.
pub(crate) fn line(text: &str, width: u16) -> Line<'static> {
    Line::raw(measure::cut(text, width.into()))
}

/// Returns [`line`] in an ink.
pub(crate) fn inked(text: &str, width: u16, colour: Colour, ink: Ink) -> Line<'static> {
    line(text, width).style(colour.cell(ink))
}

/// Converts a number of lines. A window has at most 65,535.
pub(crate) fn height(lines: usize) -> u16 {
    u16::try_from(lines).unwrap_or(u16::MAX)
}

/// Divides an area into parts of these heights, from the top. Parts that do not fit are cut off at the bottom; a
/// `Layout` alone would shrink parts of its own choice.
pub(crate) fn stack<const N: usize>(area: Rect, heights: [u16; N]) -> [Rect; N] {
    let mut left = area.height;
    let heights = heights.map(|height| {
        let height = height.min(left);
        left -= height;
        Constraint::Length(height)
    });
    Layout::vertical(heights).areas(area)
}

/// Draws a title at the left, and the keys at the right if both fit.
pub(crate) fn head(title: &str, keys: &str, colour: Colour, area: Rect, buf: &mut Buffer) {
    const LEAST_TITLE: u16 = 24;
    let keys = inked(keys, area.width, colour, Ink::Faint);
    let taken = height(keys.width());
    let [left, right] = match area.width.saturating_sub(taken + 2) {
        0..LEAST_TITLE => [area, Rect::ZERO],
        _ => Layout::horizontal([Constraint::Fill(1), Constraint::Length(taken)]).spacing(2).areas(area),
    };
    inked(title, left.width, colour, Ink::Strong).render(left, buf);
    keys.render(right, buf);
}

/// Draws a share as a percentage followed by a bar, and a text next to it.
pub(crate) fn gauge(share: f64, text: &str, area: Rect, buf: &mut Buffer) {
    let share = share.clamp(0.0, 1.0);
    let [bar, right] = Layout::horizontal([Constraint::Length(22), Constraint::Fill(1)]).spacing(2).areas(area);
    let label = format!("{:>5}", format::percent(share));
    LineGauge::default().ratio(share).label(label).filled_symbol("█").unfilled_symbol("░").render(bar, buf);
    line(text, right.width).render(right, buf);
}

/// Returns bars whose highest value has full height. A missing value leaves a gap, and 0 is a thin line.
pub(crate) fn bars(values: impl Iterator<Item = Option<f64>>, direction: RenderDirection) -> Sparkline<'static> {
    // A `Sparkline` accepts only whole numbers, so convert values to steps of the highest one.
    const STEPS: f64 = 1e6;
    const SYMBOLS: bar::Set<'static> = bar::Set { empty: bar::ONE_EIGHTH, ..bar::NINE_LEVELS };
    let values: Vec<Option<f64>> = values.collect();
    let top = values.iter().flatten().copied().fold(0.0, f64::max);
    let steps = |value: f64| if top > 0.0 { (value / top * STEPS).round() as u64 } else { 0 };
    let steps: Vec<Option<u64>> = values.into_iter().map(|value| value.map(steps)).collect();
    Sparkline::default().data(steps).max(STEPS as u64).bar_set(SYMBOLS).direction(direction)
}

/// Creates a column from its title, alignment, hide order, and the cell for each row.
pub(crate) fn column<T>(
    rows: &[&T],
    title: &str,
    align: Align,
    hide_order: Option<u32>,
    cell: impl Fn(&T) -> String,
) -> Column {
    Column { title: title.to_owned(), cells: rows.iter().map(|row| cell(row)).collect(), align, hide_order }
}

/// Gives columns at least these widths, so that they stay in place between drawings.
pub(crate) fn keep_width(columns: &mut [Column], widths: &[usize]) {
    for (column, width) in columns.iter_mut().zip(widths) {
        column.title = match column.align {
            Align::Left => format!("{:width$}", column.title),
            Align::Right => format!("{:>width$}", column.title),
        };
    }
}

#[cfg(test)]
pub(crate) mod drawn {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::buffer::Cell;
    use ratatui::widgets::Widget;

    /// Draws a screen into a window of this size.
    pub(crate) fn window(screen: impl Widget, width: u16, rows: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, rows)).unwrap();
        terminal.draw(|frame| frame.render_widget(screen, frame.area())).unwrap();
        terminal.backend().clone()
    }

    /// Compares two windows without their colours.
    pub(crate) fn assert_same_text(one: &TestBackend, other: &TestBackend) {
        let symbols = |window: &TestBackend| -> Vec<String> {
            window.buffer().content().iter().map(|cell| cell.symbol().to_owned()).collect()
        };
        assert_eq!(symbols(one), symbols(other));
        assert!(other.buffer().content().iter().all(|cell| cell.style() == Cell::EMPTY.style()));
    }

    /// Returns the lines of a window without colours and trailing spaces.
    pub(crate) fn text(screen: impl Widget, width: u16, rows: u16) -> String {
        let window = window(screen, width, rows);
        let cells: Vec<&str> = window.buffer().content().iter().map(|cell| cell.symbol()).collect();
        let lines: Vec<String> = cells.chunks(width.into()).map(|line| line.concat().trim_end().to_owned()).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::text::Span;

    // Protects: parts below the window are empty, and those above keep their height.
    #[test]
    fn a_low_window_loses_its_last_parts() {
        let area = Rect::new(0, 3, 10, 4);
        let heights = stack(area, [1, 2, 5, 1, u16::MAX]).map(|part| part.height);
        assert_eq!(heights, [1, 2, 1, 0, 0]);
    }

    // Protects: missing values are not drawn as 0, and the newest value is at the right.
    #[test]
    fn gaps_are_not_zeros() {
        let values = || [Some(10.0), None, Some(0.0), Some(5.0)].into_iter();
        assert_eq!(drawn::text(bars(values(), RenderDirection::LeftToRight), 6, 1), "█ ▁▄");
        assert_eq!(drawn::text(bars(values(), RenderDirection::RightToLeft), 6, 1), "  ▄▁ █");
        assert_eq!(drawn::text(bars([Some(0.0)].into_iter(), RenderDirection::LeftToRight), 2, 1), "▁");
    }

    // Protects a terminal from names that contain control sequences or change the writing direction.
    #[test]
    fn hidden_characters_are_escaped() {
        let text = drawn::text(line("a\u{1b}[31m\u{202e}b\nc", 60), 60, 1);
        assert!(text.starts_with("a\\") && text.contains("202e"), "{text}");
        // Shows what a buffer does with them.
        assert_eq!(drawn::text(Span::raw("a\u{1b}b"), 60, 1), "ab");
    }

    // Protects: a share outside of 0 to 1 is drawn as the nearest one.
    #[test]
    fn gauges_end_at_their_ends() {
        struct Both(f64);
        impl Widget for Both {
            fn render(self, area: Rect, buf: &mut Buffer) {
                gauge(self.0, "3 of 4", area, buf);
            }
        }
        assert_eq!(drawn::text(Both(7.0), 40, 1), "100 % ████████████████  3 of 4");
        assert_eq!(drawn::text(Both(-1.0), 40, 1), "  0 % ░░░░░░░░░░░░░░░░  3 of 4");
        assert_eq!(drawn::text(Both(0.5), 40, 1), " 50 % ████████░░░░░░░░  3 of 4");
    }
}
