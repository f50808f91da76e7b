//! Heads of HTTP/1 requests, parsed by `httparse` within limits. Sources: RFC 9112, RFC 9110.

/// Longest head, in bytes.
pub const HEAD_BYTES_MAX: usize = 8 << 10;
/// Most header lines of a request.
const HEADERS_MAX: usize = 100;

/// Error from parsing the head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Not a request, or one that two readers could read differently.
    #[error("not a request of HTTP/1")]
    Malformed,
    /// HTTP/0.9, 2 or 3.
    #[error("another version of HTTP than 1.0 and 1.1")]
    Version,
    /// The head does not end within [`HEAD_BYTES_MAX`] bytes.
    #[error("the head of the request has more than {HEAD_BYTES_MAX} bytes")]
    TooLong,
}

/// The head of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// Method, such as `GET`.
    pub method: &'a str,
    /// Path without the query. It begins with `/` and is printable ASCII.
    pub path: &'a str,
    headers: Vec<(&'a str, &'a [u8])>,
}

impl<'a> RequestHead<'a> {
    /// Parses the head at the start of what was received. Returns `None` while its end is missing.
    ///
    /// # Errors
    /// Fails for anything but a request of HTTP/1, and for heads beyond the limits.
    pub fn parse(received: &'a [u8]) -> Result<Option<RequestHead<'a>>, HeadError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let head_bytes = match request.parse(received) {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) if received.len() > HEAD_BYTES_MAX => return Err(HeadError::TooLong),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::Version) => return Err(HeadError::Version),
            Err(_) => return Err(HeadError::Malformed),
        };
        if head_bytes > HEAD_BYTES_MAX {
            return Err(HeadError::TooLong);
        }
        let (Some(method), Some(target)) = (request.method, request.path) else { return Err(HeadError::Malformed) };
        let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_method || !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(HeadError::Malformed);
        }
        let path = target.split('?').next().unwrap_or_default();
        let headers = request.headers.iter().map(|header| (header.name, header.value)).collect();
        Ok(Some(RequestHead { method, path, headers }))
    }

    /// Returns the value of a header without blanks around it.
    ///
    /// # Errors
    /// The header is there twice: two readers could take different ones.
    pub fn header(&self, name: &str) -> Result<Option<&'a [u8]>, HeadError> {
        let mut values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let first = values.next().map(|(_, value)| value.trim_ascii());
        if values.next().is_some() { Err(HeadError::Malformed) } else { Ok(first) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Option<RequestHead<'_>>, HeadError> {
        RequestHead::parse(text.as_bytes())
    }

    #[test]
    fn heads_are_parsed_once_complete() {
        let whole = "GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nAuthorization:  Bearer x \r\n\r\nbody";
        let head = parse(whole).unwrap().unwrap();
        assert_eq!((head.method, head.path), ("GET", "/metrics"));
        assert_eq!(head.header("authorization"), Ok(Some(&b"Bearer x"[..])));
        assert_eq!(head.header("cookie"), Ok(None));
        assert!(parse("POST /x HTTP/1.0\n\n").unwrap().is_some());
        for length in 0..whole.len() - "body".len() {
            assert_eq!(parse(&whole[..length]), Ok(None), "{length}");
        }
        // RFC 9112, 2.2: empty lines before a request are skipped.
        assert_eq!(parse("\r\n\r\n"), Ok(None));
    }

    // Protects: requests that two readers could read differently are refused, and so are those that cost too much.
    #[test]
    fn hostile_heads_are_refused() {
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        let long_line = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(HEAD_BYTES_MAX));
        for (head, error) in [
            ("GET\r\n\r\n", HeadError::Malformed),
            ("GET /m\r\n\r\n", HeadError::Malformed),
            ("GET  /m HTTP/1.1\r\n\r\n", HeadError::Malformed),
            ("GET /m HTTP/1.1 x\r\n\r\n", HeadError::Malformed),
            ("get /m HTTP/1.1\r\n\r\n", HeadError::Malformed),
            ("GET m HTTP/1.1\r\n\r\n", HeadError::Malformed),
            ("GET http://elsewhere/m HTTP/1.1\r\n\r\n", HeadError::Malformed),
            ("GET /m\0 HTTP/1.1\r\n\r\n", HeadError::Malformed),
            ("GET /mé HTTP/1.1\r\n\r\n", HeadError::Malformed),
            ("GET /m HTTP/1.1\r\nno colon\r\n\r\n", HeadError::Malformed),
            ("GET /m HTTP/1.1\r\n: no name\r\n\r\n", HeadError::Malformed),
            ("GET /m HTTP/1.1\r\nHost : a\r\n\r\n", HeadError::Malformed),
            ("GET /m HTTP/1.1\r\nA: b\r\n continued: c\r\n\r\n", HeadError::Malformed),
            ("GET /m HTTP/1.1\r\nA: b\0c\r\n\r\n", HeadError::Malformed),
            ("GET /m HTTP/2.0\r\n\r\n", HeadError::Version),
            (&many, HeadError::Malformed),
            (&long_line, HeadError::TooLong),
            (&"a".repeat(HEAD_BYTES_MAX + 1), HeadError::TooLong),
        ] {
            assert_eq!(parse(head), Err(error), "{head}");
        }
        assert_eq!(RequestHead::parse(b"GET /met\xffrics HTTP/1.1\r\n\r\n"), Err(HeadError::Malformed));
        let twice = parse("GET / HTTP/1.1\r\nAuthorization: a\r\nauthorization: b\r\n\r\n").unwrap().unwrap();
        assert_eq!(twice.header("Authorization"), Err(HeadError::Malformed));
    }

    proptest! {
        // Protects servers: no input makes the parser panic, and what it accepts is a printable path.
        #[test]
        fn any_input_returns_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for start in [&b""[..], b"GET /", b"GET / HTTP/1.1\r\n"] {
                let input = [start, &bytes].concat();
                if let Ok(Some(head)) = RequestHead::parse(&input) {
                    prop_assert!(head.path.bytes().all(|byte| byte.is_ascii_graphic()));
                }
            }
        }
    }
}
