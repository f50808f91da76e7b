//! Errors of the native form, shown with the lines they refer to.

use std::fmt;
use std::ops::Range;

/// Error for a text that is not a valid workload, with at least one diagnostic. Its display
/// shows the lines in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeError {
    /// Name of the text: a path, or `<stdin>`.
    pub source_name: String,
    pub text: String,
    /// Overrides that were applied, in full, such as `depth=32`.
    pub overrides: Vec<String>,
    /// Errors in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// One error and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Text that the span refers to.
    pub origin: TextOrigin,
    /// Byte range in that text.
    pub span: Range<usize>,
    /// Line of the span's start, from 1.
    pub line: usize,
    /// Column of the span's start, in characters from 1.
    pub column: usize,
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

/// Text that a [`Diagnostic`] refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextOrigin {
    /// The text of the workload, [`NativeError::text`].
    Text,
    /// An override in full, such as `depth=32`.
    Override(String),
    /// Another file that the text builds on.
    Base { name: String, text: String },
}

impl Diagnostic {
    /// Creates a diagnostic for the bytes `span` of `text`, which is the text of `origin`. Accepts any span.
    pub(super) fn new(
        origin: TextOrigin,
        text: &str,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Self {
        let start = floor_char(text, span.start);
        let end = floor_char(text, span.end).max(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Diagnostic {
            origin,
            span: start..end,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
            help,
        }
    }
}

/// Returns the last character boundary at or before a byte.
fn floor_char(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

impl std::error::Error for NativeError {}

/// Prints message, position, line, caret and help, like a compiler.
impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            self.write_one(f, diagnostic)?;
        }
        // An override can break a setting elsewhere in the text.
        if !self.overrides.is_empty() && self.diagnostics.iter().any(|diagnostic| diagnostic.origin == TextOrigin::Text)
        {
            write!(f, "\n\nnote: this is with --set {}", self.overrides.join(" --set "))?;
        }
        Ok(())
    }
}

/// Maximum number of characters to show of a line.
const SHOWN_MAX: usize = 160;

impl NativeError {
    fn write_one(&self, f: &mut fmt::Formatter<'_>, diagnostic: &Diagnostic) -> fmt::Result {
        let Diagnostic { origin, span, line, column, message, help } = diagnostic;
        writeln!(f, "error: {message}")?;
        let text = match origin {
            TextOrigin::Text => self.text.as_str(),
            TextOrigin::Override(text) => text.as_str(),
            TextOrigin::Base { text, .. } => text.as_str(),
        };
        let gutter = line.to_string();
        let margin = " ".repeat(gutter.len());
        match origin {
            TextOrigin::Text => writeln!(f, "{margin}--> {}:{line}:{column}", self.source_name)?,
            TextOrigin::Override(_) => writeln!(f, "{margin}--> --set, for {}", self.source_name)?,
            TextOrigin::Base { name, .. } => writeln!(f, "{margin}--> {name}:{line}:{column}")?,
        }
        let shown = text.lines().nth(line - 1).unwrap_or("");
        let rest = shown.chars().count().saturating_sub(column - 1);
        let wanted = text.get(span.clone()).map_or(0, |marked| marked.chars().take_while(|c| *c != '\n').count());
        // Shows the part of a long line around the position, and each tab as one space to keep the caret aligned.
        let hidden = if shown.chars().count() > SHOWN_MAX { (column - 1).saturating_sub(SHOWN_MAX / 2) } else { 0 };
        let part: String =
            shown.chars().skip(hidden).take(SHOWN_MAX).map(|c| if c == '\t' { ' ' } else { c }).collect();
        let indent = column - 1 - hidden;
        let carets = wanted.min(rest).min(SHOWN_MAX.saturating_sub(indent)).max(1);
        writeln!(f, "{margin} |")?;
        writeln!(f, "{gutter} | {part}")?;
        write!(f, "{margin} | {}{}", " ".repeat(indent), "^".repeat(carets))?;
        if let Some(help) = help {
            write!(f, "\n{margin} = help: {help}")?;
        }
        Ok(())
    }
}
