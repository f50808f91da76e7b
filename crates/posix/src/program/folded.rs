//! Folds repeated calls into loops.

use super::{Step, line_of};

/// Maximum number of calls in a round.
const ROUND_MAX: usize = 8;

/// Returns the body's lines. At least three rounds that differ only by evenly growing numbers become a loop,
/// and so do such loops.
pub(super) fn fold(steps: &[Step]) -> Vec<String> {
    let forms: Vec<Form> = steps.iter().map(|step| Form::new(&line_of(step), step)).collect();
    let inner = fold_forms(&forms, "i");
    let forms: Vec<Form> = inner.iter().map(|block| Form::of_block(block)).collect();
    let outer = fold_forms(&forms, "j");
    outer.iter().flat_map(|block| block.lines().map(str::to_owned)).collect()
}

/// Returns each loop, or a step outside of loops, as text.
fn fold_forms(forms: &[Form], variable: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < forms.len() {
        let rounds = (1..=ROUND_MAX).map(|length| (repeats(&forms[at..], length), length));
        // Pick the round that covers the most steps; of equal ones the shortest.
        let best =
            rounds.max_by_key(|(count, length)| (if *count >= 3 { count * length } else { 0 }, ROUND_MAX - length));
        match best {
            Some((count, length)) if count >= 3 => {
                let (first, second) = (&forms[at..at + length], &forms[at + length..at + 2 * length]);
                let mut block = format!("    for (long {variable} = 0; {variable} < {count}; {variable}++) {{\n");
                for (one, next) in first.iter().zip(second) {
                    one.in_loop(next, variable).lines().for_each(|line| block.push_str(&format!("    {line}\n")));
                }
                block.push_str("    }");
                blocks.push(block);
                at += count * length;
            }
            _ => {
                blocks.push(forms[at].whole.clone());
                at += 1;
            }
        }
    }
    blocks
}

/// Counts how often the first `length` steps repeat.
fn repeats(forms: &[Form], length: usize) -> usize {
    if forms.len() < 2 * length {
        return 1;
    }
    let (first, second) = (&forms[..length], &forms[length..2 * length]);
    let continues = |round: usize| {
        let here = &forms[round * length..(round + 1) * length];
        here.iter().zip(first.iter().zip(second)).all(|(here, (first, second))| here.continues(first, second, round))
    };
    (1..forms.len() / length).take_while(|round| continues(*round)).count() + 1
}

/// A text with its numbers separated.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    whole: String,
    /// Text around the numbers: one piece more than there are numbers.
    pieces: Vec<String>,
    numbers: Vec<i64>,
    /// Errno of a failed call.
    errno: Option<String>,
}

impl Form {
    /// Creates the form of a step and its line. Results are not compared, except errnos.
    fn new(line: &str, step: &Step) -> Form {
        let errno = step.recorded.clone().filter(|_| step.has_failed());
        match &step.recorded {
            None => Form { whole: line.to_owned(), pieces: vec![line.to_owned()], numbers: Vec::new(), errno },
            Some(recorded) => {
                let mut form = Form::of_text(&format!("    CALL({}", step.text));
                if let Some(last) = form.pieces.last_mut() {
                    last.push_str(&format!(", \"{recorded}\");"));
                }
                Form { whole: line.to_owned(), errno, ..form }
            }
        }
    }

    /// Creates the form of a loop, or of one line outside of loops.
    fn of_block(block: &str) -> Form {
        let form = if block.contains('\n') {
            Form::of_text(block)
        } else {
            Form { pieces: vec![block.to_owned()], numbers: Vec::new(), whole: String::new(), errno: None }
        };
        Form { whole: block.to_owned(), ..form }
    }

    fn of_text(text: &str) -> Form {
        let mut form = Form { whole: String::new(), pieces: vec![String::new()], numbers: Vec::new(), errno: None };
        let mut rest = text;
        let mut last = ' ';
        let (mut in_string, mut has_escapes) = (false, false);
        while let Some(c) = rest.chars().next() {
            if c == '"' && last != '\\' {
                in_string = !in_string;
                has_escapes = in_string && rest[1..].split('"').next().is_some_and(|text| text.contains(['\\', '%']));
            }
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            // A standalone number, not part of a name or an octal mode.
            let is_apart = if in_string { !has_escapes } else { !(last.is_alphanumeric() || last == '_') };
            let is_plain = digits == 1 || digits > 1 && digits < 18 && !rest.starts_with('0');
            match rest[..digits].parse() {
                Ok(number) if is_apart && is_plain => {
                    form.numbers.push(number);
                    form.pieces.push(String::new());
                    last = '0';
                    rest = &rest[digits..];
                }
                _ => {
                    let length = c.len_utf8().max(digits);
                    let index = form.pieces.len() - 1;
                    form.pieces[index].push_str(&rest[..length]);
                    last = c;
                    rest = &rest[length..];
                }
            }
        }
        form
    }

    /// Whether this is the step of this round, given the first two rounds. Ignores the call's result, which is in the
    /// last piece, after the call.
    fn continues(&self, first: &Form, second: &Form, round: usize) -> bool {
        let is_alike = |other: &Form| {
            let calls = |form: &Form| form.pieces.len() - usize::from(form.whole.starts_with("    CALL("));
            self.errno == other.errno
                && self.numbers.len() == other.numbers.len()
                && self.pieces[..calls(self)] == other.pieces[..calls(other)]
                && after_call(self.pieces.last()) == after_call(other.pieces.last())
        };
        let grows = |((here, one), next): ((&i64, &i64), &i64)| *here == one + (next - one) * round as i64;
        is_alike(first) && is_alike(second) && self.numbers.iter().zip(&first.numbers).zip(&second.numbers).all(grows)
    }

    /// Returns the text within a loop, given the second round. A string with growing numbers uses the macro `N`.
    fn in_loop(&self, next: &Form, variable: &str) -> String {
        let mut writer = LoopWriter::default();
        writer.text(&self.pieces[0]);
        for ((number, following), piece) in self.numbers.iter().zip(&next.numbers).zip(&self.pieces[1..]) {
            match following - number {
                0 => writer.out.push_str(&number.to_string()),
                step => writer.number(&format!("{number} + {variable} * {step}")),
            }
            writer.text(piece);
        }
        writer.out
    }
}

/// Returns the part of the last piece that belongs to the call, before its result.
fn after_call(piece: Option<&String>) -> &str {
    piece.map_or("", |piece| piece.rsplit_once(", \"").map_or(piece.as_str(), |(call, _)| call))
}

/// Writes a line of a loop.
#[derive(Debug, Default)]
struct LoopWriter {
    out: String,
    last: char,
    /// Start of the current string.
    string: Option<usize>,
    /// Expressions for its growing numbers.
    growing: Vec<String>,
    /// Number of strings with such numbers so far.
    strings: usize,
}

impl LoopWriter {
    fn text(&mut self, text: &str) {
        for c in text.chars() {
            let is_quote = c == '"' && self.last != '\\';
            self.last = c;
            match (is_quote, self.string) {
                (true, None) => self.string = Some(self.out.len()),
                (true, Some(begin)) if !self.growing.is_empty() => {
                    let literal = self.out.split_off(begin);
                    let growing = std::mem::take(&mut self.growing).join(", ");
                    self.out.push_str(&format!("N({}, {literal}\", {growing})", self.strings));
                    (self.string, self.strings) = (None, self.strings + 1);
                    continue;
                }
                (true, Some(_)) => self.string = None,
                (false, _) => {}
            }
            self.out.push(c);
        }
    }

    fn number(&mut self, expression: &str) {
        self.last = '0';
        if self.string.is_some() {
            self.out.push_str("%ld");
            self.growing.push(expression.to_owned());
        } else {
            self.out.push_str(&format!("({expression})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lines: &[String]) -> Vec<Step> {
        lines.iter().map(|line| Step::parse(line)).collect()
    }

    // Protects: a loop has the numbers of each round, and a different errno is not part of it.
    #[test]
    fn numbers_that_grow_evenly_become_a_loop() {
        let open = |number: i64| {
            [
                format!("fd[9] = syscall(SYS_openat, AT_FDCWD, \"d/{number}\", O_CREAT, 0644); /* 9 */"),
                "syscall(SYS_close, fd[9]); /* 0 */".to_owned(),
            ]
        };
        let mut lines: Vec<String> = (5..10).flat_map(open).collect();
        lines.push("syscall(SYS_close, fd[9]); /* EBADF */".to_owned());
        assert_eq!(
            fold(&steps(&lines)),
            [
                "    for (long i = 0; i < 5; i++) {",
                "        CALL(fd[9] = syscall(SYS_openat, AT_FDCWD, N(0, \"d/%ld\", 5 + i * 1), O_CREAT, 0644), \"9\");",
                "        CALL(syscall(SYS_close, fd[9]), \"0\");",
                "    }",
                "    CALL(syscall(SYS_close, fd[9]), \"EBADF\");",
            ]
        );
    }

    // Protects: names in alternating directories, as in link.emlink.
    #[test]
    fn loops_that_repeat_become_loops_of_loops() {
        let link = |number: i64| format!("syscall(SYS_linkat, \"f\", \"d{}/{number}\", 0L); /* 0 */", number % 10);
        let lines: Vec<String> = (0..70).map(link).collect();
        assert_eq!(
            fold(&steps(&lines)),
            [
                "    for (long j = 0; j < 7; j++) {",
                "        for (long i = 0; i < 10; i++) {",
                "            CALL(syscall(SYS_linkat, \"f\", N(0, \"d%ld/%ld\", 0 + i * 1, (0 + j * 10) + i * 1), 0L), \"0\");",
                "        }",
                "    }",
            ]
        );
    }

    // Protects: two rounds stay unfolded, and octal modes and escapes are not growing numbers.
    #[test]
    fn uneven_repetitions_stay() {
        for lines in [
            ["x(1L); /* 0 */", "x(2L); /* 0 */", "x(4L); /* 0 */"],
            ["x(0644); /* 0 */", "x(0645); /* 0 */", "x(0646); /* 0 */"],
            ["x(\"\\001\"); /* 0 */", "x(\"\\002\"); /* 0 */", "x(\"\\003\"); /* 0 */"],
            ["x(\"100%1\"); /* 0 */", "x(\"100%2\"); /* 0 */", "x(\"100%3\"); /* 0 */"],
        ] {
            let lines = lines.map(str::to_owned);
            assert_eq!(fold(&steps(&lines)).len(), 3, "{lines:?}");
        }
    }
}
