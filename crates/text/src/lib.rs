//! Text that crosses the border of the program.
//!
//! - [`visible`]: output. Names and messages of others cannot steer a terminal or reorder a line.
//! - [`bounded`]: input. Files and streams that people name are read up to a limit.
//! - [`markdown`]: text inside Markdown that stays text.
//! - [`similar`]: the name that a mistyped word most likely means, in bounded time.

pub mod bounded;
pub mod markdown;
pub mod similar;
pub mod visible;

pub use visible::{visible, visible_line};
