use crate::check::{Check, Judge, Outcome};
use crate::comparison::ToolPrint;
use crate::evidence::ComparisonView;
use plumb_result::Remedy;

pub(crate) static CHECK: Check = Check {
    code: "D7",
    title: "Same tool",
    what: "Whether the numbers of both sides were made by the same program and, where it ran another tool's language, \
           in the same version of that dialect.",
    why: "Two programs that give a number the same name seldom measure the same thing: dd's rate with and without the \
          final flush, Bonnie++'s and IOzone's \"rewrite\", fio's bandwidth with and without the ramp. Tarasov, \
          Bhanage, Zadok and Seltzer, \"Benchmarking File System Benchmarking\", HotOS 2011.",
    how: "Program name, dialect and dialect version of all runs; E13 covers what other versions of the same program \
          changed.",
    threshold: "any difference fails",
    settled: "Nothing to settle: programs are equal or not.",
    fix: &[Remedy::words("Measure both sides with one program.")],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let tools = || view.baseline.record.tools.iter().chain(&view.candidate.record.tools);
    if view.baseline.record.tools.is_empty() || view.candidate.record.tools.is_empty() {
        return Outcome::skipped("the tool that measured one side is not recorded");
    }
    let mut languages: Vec<String> = Vec::new();
    for language in tools().map(language) {
        if !languages.contains(&language) {
            languages.push(language);
        }
    }
    match languages.as_slice() {
        [one] => Outcome::pass(one.clone()),
        several => {
            let list = several.join(" and ");
            let message = format!("The two sides were measured with different tools: {list}.");
            Outcome::fail(list, message)
        }
    }
}

/// Formats `plumb`, or `plumb as fio (meanings 2)`.
fn language(tool: &ToolPrint) -> String {
    match &tool.dialect {
        Some(dialect) => format!("{} as {} (meanings {})", tool.name, dialect.name, dialect.semantics),
        None => tool.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::DialectPrint;
    use crate::fixture::Both;
    use plumb_result::Level;

    fn tool(name: &str, version: &str, semantics: Option<u32>) -> ToolPrint {
        let dialect = semantics.map(|semantics| DialectPrint { name: "fio".to_owned(), semantics });
        ToolPrint { name: name.to_owned(), version: version.to_owned(), dialect }
    }

    fn level(one: ToolPrint, other: ToolPrint) -> Option<Level> {
        let both = Both::equal().with(|both| {
            both.records[0].tools.push(one);
            both.records[1].tools.push(other);
        });
        both.level("D7")
    }

    #[test]
    fn one_program_passes_and_two_fail() {
        assert_eq!(level(tool("plumb", "1", None), tool("plumb", "1", None)), Some(Level::Pass));
        assert_eq!(level(tool("plumb", "1", None), tool("iozone", "3", None)), Some(Level::Fail));
    }

    #[test]
    fn a_dialect_must_mean_the_same() {
        assert_eq!(level(tool("plumb", "1", Some(1)), tool("plumb", "2", Some(1))), Some(Level::Pass));
        assert_eq!(level(tool("plumb", "1", Some(1)), tool("plumb", "2", Some(2))), Some(Level::Fail));
        assert_eq!(level(tool("plumb", "1", Some(1)), tool("plumb", "1", None)), Some(Level::Fail));
    }

    #[test]
    fn an_unknown_tool_is_not_the_same_tool() {
        assert_eq!(Both::equal().level("D7"), Some(Level::Skipped));
    }
}
