//! `[COUNT:][NAMESPACE/]SELECTOR`: the pods that a user chooses.

use super::{PODS_MAX, PodsError, is_namespace};

/// Maximum length of a selector, which is part of a URL.
const SELECTOR_BYTES_MAX: usize = 2048;

/// The pods that a user chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodChoice {
    /// Number of ready pods to wait for; `None` for all pods that match.
    pub count: Option<usize>,
    /// `None` for the namespace of this pod.
    pub namespace: Option<String>,
    /// Label selector, as `kubectl -l` takes it.
    pub selector: String,
}

impl PodChoice {
    /// Parses the text after `k8s:`. A part before `/` is the namespace unless it has a dot or another character that no
    /// namespace has: such a part belongs to a label such as `app.kubernetes.io/name`.
    ///
    /// # Errors
    /// The count is not from 1 to [`PODS_MAX`], or the selector is empty, too long, or has characters that no selector has.
    pub fn parse(text: &str) -> Result<PodChoice, PodsError> {
        let (count, rest) = match text.split_once(':') {
            None => (None, text),
            Some((number, rest)) => (Some(count(number)?), rest),
        };
        let (namespace, selector) = match rest.split_once('/') {
            Some((namespace, selector)) if is_namespace(namespace) => (Some(namespace.to_owned()), selector),
            _ => (None, rest),
        };
        let selector = selector.trim_matches(' ');
        if selector.is_empty() || selector.len() > SELECTOR_BYTES_MAX || !selector.chars().all(is_of_selector) {
            let text: String = text.chars().take(80).collect();
            return Err(PodsError::Selector { text });
        }
        Ok(PodChoice { count, namespace, selector: selector.to_owned() })
    }
}

fn count(text: &str) -> Result<usize, PodsError> {
    let is_number = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = text.parse().ok().filter(|count| is_number && (1..=PODS_MAX).contains(count));
    count.ok_or_else(|| PodsError::Count { text: text.chars().take(80).collect() })
}

/// Returns `true` for a character of labels, operators and sets. The server checks the rest of the grammar.
fn is_of_selector(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | '=' | '!' | '(' | ')' | ',' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn choice(count: Option<usize>, namespace: Option<&str>, selector: &str) -> PodChoice {
        PodChoice { count, namespace: namespace.map(str::to_owned), selector: selector.to_owned() }
    }

    // Protects: a label with a domain is not taken for a namespace, so that the pods are those that the user means.
    #[test]
    fn a_choice_has_a_count_a_namespace_and_a_selector() {
        for (text, expected) in [
            ("app=plumb-agents", choice(None, None, "app=plumb-agents")),
            ("bench/app=a,tier!=b", choice(None, Some("bench"), "app=a,tier!=b")),
            ("4:app=a", choice(Some(4), None, "app=a")),
            ("1024:bench/app in (a, b)", choice(Some(1024), Some("bench"), "app in (a, b)")),
            ("app.kubernetes.io/name=a", choice(None, None, "app.kubernetes.io/name=a")),
            ("bench/example/name=a", choice(None, Some("bench"), "example/name=a")),
            ("app=a,example.org/tier=b", choice(None, None, "app=a,example.org/tier=b")),
            ("!app", choice(None, None, "!app")),
        ] {
            assert_eq!(PodChoice::parse(text), Ok(expected), "{text}");
        }
    }

    // Protects: a choice that no server understands, or that means every pod, is refused before anything is asked.
    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", " ", "bench/", "4:", "4:bench/ ", "app=a\n", "app=ä", "a%20", "a&b", "a#b", "a?b", &"a".repeat(2049)]
        {
            assert!(matches!(PodChoice::parse(text), Err(PodsError::Selector { .. })), "{text:?}");
        }
        for text in
            ["0:app=a", "1025:app=a", "-1:app=a", "+1:a", "x:app=a", ":app=a", "9999999:a", "99999999999999999999:a"]
        {
            assert!(matches!(PodChoice::parse(text), Err(PodsError::Count { .. })), "{text:?}");
        }
    }

    proptest! {
        // Protects: any text is a choice or an error.
        #[test]
        fn any_text_is_a_choice_or_an_error(text in "[0-9a-z:/=,!() .-]{0,40}|.{0,40}") {
            if let Ok(choice) = PodChoice::parse(&text) {
                prop_assert!(choice.count.is_none_or(|count| (1..=PODS_MAX).contains(&count)));
                prop_assert!(choice.namespace.is_none_or(|namespace| is_namespace(&namespace)));
                prop_assert!(!choice.selector.is_empty());
            }
        }
    }
}
