//! The lab tier: tests that boot virtual machines or take minutes, which `cargo xtask test --lab` adds. Tests only in
//! this tier are marked `#[ignore = "lab tier: …"]`, by which a normal run lists what it left out.

/// Returns `true` in the lab tier, in which tests of the usual tier take more seeds.
pub fn is_lab() -> bool {
    std::env::var_os("PLUMB_TEST_LAB").is_some()
}
