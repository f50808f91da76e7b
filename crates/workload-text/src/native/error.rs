//! Errors of the native form, with the lines they are about.

use std::fmt;
use std::ops::Range;

/// Why a text is no workload that can run: at least one diagnostic. Printed with the lines it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeError {
    /// What the text is called: a path, or `<stdin>`.
    pub source_name: String,
    /// The text itself.
    pub text: String,
    /// The overrides that were put in, in full: `depth=32`.
    pub overrides: Vec<String>,
    /// What is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which text the place lies in.
    pub origin: TextOrigin,
    /// Bytes of that text that it is about.
    pub span: Range<usize>,
    /// Line of the span's start, from 1.
    pub line: usize,
    /// Character of that line, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

/// Which text a [`Diagnostic`] is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextOrigin {
    /// The workload's own: [`NativeError::text`].
    Text,
    /// An override, in full: `depth=32`.
    Override(String),
    /// Another file, which the text builds on.
    Base {
        /// What it is called.
        name: String,
        /// Its text.
        text: String,
    },
}

impl Diagnostic {
    /// A diagnostic of the bytes `span` of `text`, which is the text of `origin`. The span may lie anywhere.
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

/// The last boundary of a character at or before a byte.
fn floor_char(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

impl std::error::Error for NativeError {}

/// As compilers do it: message, place, line, caret, help.
impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            self.write_one(f, diagnostic)?;
        }
        // An override may well break what the text says elsewhere.
        if !self.overrides.is_empty() && self.diagnostics.iter().any(|diagnostic| diagnostic.origin == TextOrigin::Text)
        {
            write!(f, "\n\nnote: this is with --set {}", self.overrides.join(" --set "))?;
        }
        Ok(())
    }
}

/// Characters of a line that are shown at most.
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
        // Of a line that is too long, what lies around the place; a tab as one blank, so that the caret stands right.
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
