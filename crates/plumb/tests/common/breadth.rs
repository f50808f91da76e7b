//! What is slow and rarely breaks is tested by `cargo xtask test --long`.

/// Whether what is slow and rarely breaks is tested too: `cargo xtask test --long`.
pub fn long() -> bool {
    std::env::var_os("PLUMB_TEST_LONG").is_some()
}

/// Says that a test is one of the long ones, where those are not asked for.
pub fn long_only() -> bool {
    if !long() {
        eprintln!("SKIPPED: slow and rarely breaks; `cargo xtask test --long` runs it");
    }
    long()
}
