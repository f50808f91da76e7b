//! The part of HTTP/1.1 that a scraper needs: the head of one request in, one whole response out. Source: RFC 9112, RFC 9110.

use plumb_text::http::{HeadError, RequestHead};
use std::hint::black_box;

/// A secret that a client must present.
#[derive(Clone)]
pub(super) struct Token(Vec<u8>);

impl Token {
    /// Shortest token, bytes; a shorter one could be guessed.
    pub(super) const SHORTEST: usize = 16;

    /// Trims and checks a token; `None` if it is too short or not valid in a header.
    pub(super) fn new(text: &str) -> Option<Token> {
        let text = text.trim();
        let fits = text.len() >= Token::SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Token(text.as_bytes().to_vec()))
    }

    /// Compares in constant time, so that timing reveals no matching bytes.
    fn is(&self, shown: &[u8]) -> bool {
        let mut differs = u8::from(shown.len() != self.0.len());
        for (number, byte) in self.0.iter().enumerate() {
            differs |= black_box(byte ^ shown.get(number).copied().unwrap_or(0));
        }
        black_box(differs) == 0
    }
}

/// Returns the whole response to a request, or `None` while its head is incomplete. `page` renders `/metrics`.
pub(super) fn answer(
    received: &[u8],
    token: Option<&Token>,
    media_type: &str,
    page: impl FnOnce() -> String,
) -> Option<Vec<u8>> {
    let request = match RequestHead::parse(received) {
        Ok(Some(head)) => bearer(&head).map(|bearer| (head, bearer)),
        Ok(None) => return None,
        Err(error) => Err(error),
    };
    Some(match request {
        Ok((request, bearer)) => respond(&request, bearer, token, media_type, page),
        Err(error) => refusal(error),
    })
}

/// Returns the bearer token of a request.
fn bearer<'a>(request: &RequestHead<'a>) -> Result<Option<&'a [u8]>, HeadError> {
    let value = request.header("authorization")?;
    let words = value.and_then(|value| value.split_at_checked(7));
    Ok(words.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer ")).map(|(_, shown)| shown.trim_ascii()))
}

fn refusal(error: HeadError) -> Vec<u8> {
    let status = match error {
        HeadError::Malformed => "400 Bad Request",
        HeadError::Version => "505 HTTP Version Not Supported",
        HeadError::TooLong => "431 Request Header Fields Too Large",
    };
    response(status, &[], "text/plain; charset=utf-8", status, Body::Sent)
}

fn respond(
    request: &RequestHead<'_>,
    bearer: Option<&[u8]>,
    token: Option<&Token>,
    media_type: &str,
    page: impl FnOnce() -> String,
) -> Vec<u8> {
    let body = if request.method == "HEAD" { Body::Described } else { Body::Sent };
    let plain =
        |status: &str, further: &[&str], text: &str| response(status, further, "text/plain; charset=utf-8", text, body);
    if let Some(token) = token
        && !bearer.is_some_and(|shown| token.is(shown))
    {
        return plain(
            "401 Unauthorized",
            &["WWW-Authenticate: Bearer"],
            "show the token: Authorization: Bearer TOKEN\n",
        );
    }
    match (request.method, request.path) {
        ("GET" | "HEAD", "/metrics") => response("200 OK", &[], media_type, &page(), body),
        ("GET" | "HEAD", _) => plain("404 Not Found", &[], "the metrics are at /metrics\n"),
        _ => plain("405 Method Not Allowed", &["Allow: GET, HEAD"], "only GET and HEAD\n"),
    }
}

/// Whether the response includes its body, or only its length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Sent,
    Described,
}

fn response(status: &str, further: &[&str], media_type: &str, text: &str, body: Body) -> Vec<u8> {
    let further: String = further.iter().map(|header| format!("{header}\r\n")).collect();
    let text_sent = if body == Body::Sent { text } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n{further}\r\n{text_sent}",
        text.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "0123456789abcdef0";

    fn status(head: &[u8], token: Option<&Token>) -> String {
        let Some(all) = answer(head, token, "text/x", || "page\n".to_owned()) else { return "none".to_owned() };
        let all = String::from_utf8(all).unwrap();
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        let length: usize =
            head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
        assert!(body.is_empty() || body.len() == length, "{all}");
        head.lines().next().unwrap().strip_prefix("HTTP/1.1 ").unwrap()[..3].to_owned()
    }

    // Protects: a scraper gets the page, and any other client an error.
    #[test]
    fn requests_and_their_answers() {
        for (head, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200"),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics/../../etc/passwd HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /metrics HTTP/2.0\r\n\r\n", "505"),
        ] {
            assert_eq!(status(head.as_bytes(), None), wanted, "{head}");
        }
        let head = answer(b"HEAD /metrics HTTP/1.1\r\n\r\n", None, "t", || "page".to_owned()).unwrap();
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("Content-Length: 4\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    // Protects: requests that no honest client sends are refused.
    #[test]
    fn hostile_requests_are_refused() {
        for (head, wanted) in [
            (&b"GET /metrics\r\n\r\n"[..], "400"),
            (b"GET  /metrics HTTP/1.1\r\n\r\n", "400"),
            (b"GET /met\x00rics HTTP/1.1\r\n\r\n", "400"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
            (&[b'a'; 9000], "431"),
            (b"GET /metrics HTTP/1.1\r\nHost: a\r\n", "none"),
            (b"\r\n\r\n", "none"),
        ] {
            assert_eq!(status(head, None), wanted, "{}", String::from_utf8_lossy(head));
        }
    }

    // Protects: without the token, a client learns nothing, not even which pages exist.
    #[test]
    fn the_token_is_asked_for() {
        let token = Token::new(&format!("{SECRET}\n")).unwrap();
        let with = |header: &str| status(format!("GET /metrics HTTP/1.1\r\n{header}\r\n\r\n").as_bytes(), Some(&token));
        assert_eq!(with(&format!("Authorization: Bearer {SECRET}")), "200");
        assert_eq!(with(&format!("authorization:  bearer {SECRET} ")), "200");
        for header in [
            "Host: a".to_owned(),
            "Authorization: Bearer".to_owned(),
            "Authorization: Bearer ".to_owned(),
            format!("Authorization: {SECRET}"),
            format!("Authorization: Basic {SECRET}"),
            format!("Authorization: Bearer {}", &SECRET[1..]),
            format!("Authorization: Bearer {SECRET}0"),
            format!("Authorization: Bearer {}", SECRET.to_uppercase()),
        ] {
            assert_eq!(with(&header), "401", "{header}");
        }
        assert_eq!(with(&format!("Authorization: Bearer x\r\nAuthorization: Bearer {SECRET}")), "400");
        assert_eq!(status(b"GET /nothing HTTP/1.1\r\n\r\n", Some(&token)), "401");
        for text in ["", "short", "with a blank in the middle", "ümläute-ümläute-ümläute"] {
            assert!(Token::new(text).is_none(), "{text}");
        }
    }

    proptest! {
        // Fuzz test of the reader: any input gets an answer, but never the page without the token.
        #[test]
        fn any_request_is_answered(head in proptest::collection::vec(any::<u8>(), 0..400)) {
            let token = Token::new(SECRET).unwrap();
            prop_assert_ne!(status(&head, Some(&token)), "200");
        }

        // Fuzz test with near-valid input: a good request with a part replaced.
        #[test]
        fn a_damaged_request_is_answered(at in 0usize..80, length in 0usize..8, with in proptest::collection::vec(any::<u8>(), 0..8)) {
            let token = Token::new(SECRET).unwrap();
            let good = format!("GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {SECRET}\r\n\r\n").into_bytes();
            let mut head = good.clone();
            let at = at.min(head.len());
            let end = (at + length).min(head.len());
            head.splice(at..end, with.iter().copied());
            let status = status(&head, Some(&token));
            let shows = head.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
            prop_assert!(status != "200" || shows);
        }
    }
}
