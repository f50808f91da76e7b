//! Splits a script into tokens with places.

use super::usage_error::FilebenchUsageError;

/// A place in a script: line and column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) place: Place,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// A keyword, a name, or a text that needs no quotes.
    Word(String),
    /// A quoted text without its escapes; `\$` is [`DOLLAR`].
    Quoted(String),
    Integer(u64),
    /// A variable's name, without the dollar.
    Variable(String),
    /// `= , { } ( ) * + -` and `/` on its own.
    Mark(char),
}

/// Stands for an escaped dollar, which does not start a variable.
pub(super) const DOLLAR: char = '\u{1}';

impl TokenKind {
    /// Returns the text for messages.
    pub(super) fn text(&self) -> String {
        match self {
            TokenKind::Word(word) => word.clone(),
            TokenKind::Quoted(text) => format!("\"{text}\""),
            TokenKind::Integer(number) => number.to_string(),
            TokenKind::Variable(name) => format!("${name}"),
            TokenKind::Mark(mark) => mark.to_string(),
        }
    }
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    place: Place,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.place = Place { line: self.place.line + 1, column: 1 };
        } else {
            self.place.column += 1;
        }
        Some(next)
    }

    fn next_if(&mut self, fits: impl Fn(char) -> bool) -> Option<char> {
        if self.rest.peek().is_some_and(|&next| fits(next)) { self.next() } else { None }
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool + Copy) -> String {
        std::iter::from_fn(|| self.next_if(fits)).collect()
    }
}

/// Returns `true` for a character inside an unquoted text, after the first one.
fn is_inside(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | ':' | ';' | '-' | '/')
}

/// Splits a script into tokens.
///
/// # Errors
/// A character that cannot start a token, a number that is too large, or a text without a closing quote.
pub(super) fn words(text: &str) -> Result<Vec<Token>, FilebenchUsageError> {
    let mut reader = Reader { rest: text.chars().peekable(), place: Place { line: 1, column: 1 } };
    let mut words = Vec::new();
    loop {
        let place = reader.place;
        let Some(first) = reader.next() else { return Ok(words) };
        let kind = match first {
            '#' => {
                reader.take_while(|next| next != '\n');
                continue;
            }
            space if space.is_whitespace() => continue,
            '"' => TokenKind::Quoted(quoted(&mut reader, place)?),
            '$' => TokenKind::Variable(variable(&mut reader, place)?),
            digit if digit.is_ascii_digit() => number(&mut reader, digit, place)?,
            '=' | ',' | '{' | '}' | '(' | ')' | '*' | '+' => TokenKind::Mark(first),
            '-' | '/' if !reader.rest.peek().is_some_and(|&next| is_inside(next)) => TokenKind::Mark(first),
            letter if letter.is_ascii_alphabetic() || matches!(letter, '/' | '-' | '_' | '.') => {
                let mut word = String::from(letter);
                word.push_str(&reader.take_while(is_inside));
                TokenKind::Word(word)
            }
            other => {
                return Err(FilebenchUsageError::at(place, format!("illegal character `{}`", other.escape_debug())));
            }
        };
        words.push(Token { place, kind });
    }
}

fn quoted(reader: &mut Reader<'_>, place: Place) -> Result<String, FilebenchUsageError> {
    let mut text = String::new();
    loop {
        match reader.next() {
            None => return Err(FilebenchUsageError::at(place, "the text has no closing quote")),
            Some('"') => return Ok(text),
            Some('\\') => match reader.next() {
                Some('n') => text.push('\n'),
                Some('$') => text.push(DOLLAR),
                Some(other @ ('"' | '\\')) => text.push(other),
                Some(other) => text.extend(['\\', other]),
                None => return Err(FilebenchUsageError::at(place, "the text has no closing quote")),
            },
            Some(other) => text.push(other),
        }
    }
}

/// Parses a variable: `$name`, `${name}` or `$(name)`.
fn variable(reader: &mut Reader<'_>, place: Place) -> Result<String, FilebenchUsageError> {
    let closing = match reader.next_if(|next| matches!(next, '{' | '(')) {
        Some('{') => Some('}'),
        Some(_) => Some(')'),
        None => None,
    };
    let name = reader.take_while(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '.'));
    let closed = closing.is_none_or(|closing| reader.next_if(|next| next == closing).is_some());
    match name.is_empty() || !closed {
        true => {
            Err(FilebenchUsageError::at(place, "a dollar without the name of a variable")
                .help("write `$name`, or `\\$`"))
        }
        false => Ok(name),
    }
}

/// Parses a number, with `k`, `m` or `g` for powers of 1024. It is a word if other letters follow.
fn number(reader: &mut Reader<'_>, first: char, place: Place) -> Result<TokenKind, FilebenchUsageError> {
    let mut word = String::from(first);
    word.push_str(&reader.take_while(is_inside));
    let digits = word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let factor: u64 = match word[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Ok(TokenKind::Word(word)),
    };
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(TokenKind::Word(word));
    }
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.map(TokenKind::Integer).ok_or_else(|| {
        FilebenchUsageError::at(place, format!("the number {word} is too large")).help("numbers go up to 2^64 - 1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        words(text).unwrap().iter().map(|token| token.kind.text()).collect()
    }

    /// Tokens match the expectations of published scripts: paths and parameters need no quotes, and
    /// attribute lists may span lines.
    #[test]
    fn scripts_are_split_into_tokens() {
        let text =
            "set $dir=/mnt/t-1 # where\nsize=16k,\n parameters=mean:16384;gamma:1.5 {05, 1k} \"a \\\"b\\$c\" $x.type";
        assert_eq!(
            read(text).join(" "),
            "set $dir = /mnt/t-1 size = 16384 , parameters = mean:16384;gamma:1.5 { 5 , 1024 } \"a \"b\u{1}c\" $x.type"
        );
        assert_eq!(
            read("$(dir) ${dir} $n * $m - 1 / 2 -5"),
            ["$dir", "$dir", "$n", "*", "$m", "-", "1", "/", "2", "-5"]
        );
        let place = words("a\n  $bc").unwrap()[1].place;
        assert_eq!((place.line, place.column), (2, 3));
    }

    /// An invalid character is an error with its place.
    #[test]
    fn invalid_tokens_have_a_place() {
        for (text, place, says) in [
            ("a\n  %", (2, 3), "illegal character"),
            ("set $", (1, 5), "dollar"),
            ("x ${a", (1, 3), "dollar"),
            ("\n\"open", (2, 1), "closing quote"),
            ("99999999999999999999", (1, 1), "too large"),
            ("17179869184g", (1, 1), "too large"),
        ] {
            let error = words(text).unwrap_err();
            assert_eq!((error.place.unwrap().line, error.place.unwrap().column), place, "{text}");
            assert!(error.message.contains(says), "{text}: {}", error.message);
        }
    }
}
