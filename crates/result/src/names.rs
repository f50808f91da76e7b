//! Tests that enum names match the names in documents.

use crate::audit::ClaimVerdict;
use crate::compare::{ContrastVerdict, Replicate};
use crate::finding::{Level, RunVerdict, Tier};
use crate::lane::LaneMeasure;
use crate::published::CellMetric;
use crate::run::TierName;
use crate::sweep::SweepKey;
use plumb_document::json::to_value;
use serde::Serialize;
use strum::VariantArray;

fn agree<T: VariantArray + Serialize + Copy + Into<&'static str>>() {
    for &one in T::VARIANTS {
        let name: &str = one.into();
        assert_eq!(to_value(&one).unwrap(), name);
    }
}

// Protects: each enum has one name in documents and on pages, although serde and strum each set their own case.
#[test]
fn serde_and_strum_names_match() {
    agree::<CellMetric>();
    agree::<ClaimVerdict>();
    agree::<ContrastVerdict>();
    agree::<LaneMeasure>();
    agree::<Level>();
    agree::<Replicate>();
    agree::<RunVerdict>();
    agree::<SweepKey>();
    agree::<TierName>();
    for tier in [Tier::Device, Tier::Server, Tier::Cache, Tier::Mixed { device_share: 0.5 }, Tier::Unknown] {
        assert_eq!(tier.name(), TierName::from(tier).name());
    }
}
