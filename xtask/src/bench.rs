//! Benchmarks.

use anyhow::Result;

pub fn engine() -> Result<()> {
    Ok(())
}

pub fn flows() -> Result<()> {
    Ok(())
}
