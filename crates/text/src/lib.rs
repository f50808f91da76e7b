//! Untrusted text in input and output.
//!
//! - [`visible`]: escapes control characters, so that names and messages cannot control a terminal or reorder a line.
//! - [`bounded`]: reads files and streams up to a limit.
//! - [`http`]: parses heads of HTTP requests within limits.
//! - [`markdown`], [`markup`]: escape text for Markdown, and for HTML, XML and SVG.
//! - [`similar`]: suggests the intended name for a mistyped word, in bounded time.

pub mod bounded;
pub mod http;
pub mod markdown;
pub mod markup;
pub mod similar;
pub mod visible;

pub use visible::{visible, visible_line};
