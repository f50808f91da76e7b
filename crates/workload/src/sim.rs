//! The simulated device: a name, a model and injected faults, written `sim:MODEL?fault=value&…`.

use crate::units::{Bytes, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Which device is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimModel {
    /// A 7200 rpm disk: seek, rotation, 200 MB/s media, one op at a time, volatile write cache.
    Hdd,
    /// A SATA SSD: 80 µs reads, 32 ops at once, 550 MB/s link.
    Ssd,
    /// An NVMe drive: 70 µs reads, 64 ops at once, 3.5 GB/s.
    Nvme,
    /// Memory: 1 µs.
    Ram,
}

/// A simulated device with its faults. All shares are 0–1.
#[derive(Debug, Clone, PartialEq)]
pub struct SimDevice {
    /// Which device.
    pub model: SimModel,
    /// `slow=5%`: service times longer by this share.
    pub slow: f64,
    /// `cv=3%`: coefficient of variation of a run's speed around its mean (log-normal, one draw a run).
    pub cv: f64,
    /// `drift=0.5%`: each further run slower by this share.
    pub drift: f64,
    /// `bimodal=20%`: share of runs that are slow …
    pub bimodal: f64,
    /// `bimodal-slow=25%`: … and by how much.
    pub bimodal_slow: f64,
    /// `plot=6%`: coefficient of variation between provisionings.
    pub plot: f64,
    /// `background=10%`: share of the device's time that somebody else takes.
    pub background: f64,
    /// `throttle=30s`: after so much busy time …
    pub throttle_after: Option<Nanos>,
    /// `throttle-slow=50%`: … the device is slower by this share.
    pub throttle_slow: f64,
    /// `resync=30%`: share of the device's time that a RAID resync takes.
    pub resync: f64,
    /// `cached=60%`: share of reads answered from a page cache.
    pub cached: f64,
    /// `write-cache=256MiB`: page cache that absorbs writes until a flush; 0 is none.
    pub write_cache: Bytes,
    /// `lying-flush`: flushes return at once and nothing becomes durable.
    pub lying_flush: bool,
    /// `errors=0.1%`: share of ops that fail with EIO.
    pub errors: f64,
    /// `short=0.1%`: share of reads that return half.
    pub short: f64,
    /// `stall=5s`: one op of the run takes this long.
    pub stall: Option<Nanos>,
}

impl SimDevice {
    /// A healthy device of this model.
    pub fn healthy(model: SimModel) -> SimDevice {
        SimDevice {
            model,
            slow: 0.0,
            cv: 0.01,
            drift: 0.0,
            bimodal: 0.0,
            bimodal_slow: 0.25,
            plot: 0.0,
            background: 0.0,
            throttle_after: None,
            throttle_slow: 0.5,
            resync: 0.0,
            cached: 0.0,
            write_cache: Bytes(0),
            lying_flush: false,
            errors: 0.0,
            short: 0.0,
            stall: None,
        }
    }
}

impl Serialize for SimDevice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SimDevice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for SimDevice {
    fn schema_name() -> Cow<'static, str> {
        "SimDevice".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "a simulated device such as `sim:hdd?slow=5%`" })
    }
}

/// Why a simulated device could not be read from its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// The model is not one of ours.
    #[error("`{0}` is no simulated device; there are `sim:hdd`, `sim:ssd`, `sim:nvme` and `sim:ram`")]
    Model(String),
    /// The fault is not one of ours.
    #[error("`{fault}` is no fault of a simulated device; there are {known}")]
    Fault {
        /// What was found.
        fault: String,
        /// All faults.
        known: String,
    },
    /// The fault's value cannot be read.
    #[error("`{fault}={value}` is not {expected}")]
    Value {
        /// The fault.
        fault: String,
        /// What was found.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl SimModel {
    const ALL: [SimModel; 4] = [SimModel::Hdd, SimModel::Ssd, SimModel::Nvme, SimModel::Ram];

    /// The name behind `sim:`.
    pub const fn name(self) -> &'static str {
        match self {
            SimModel::Hdd => "hdd",
            SimModel::Ssd => "ssd",
            SimModel::Nvme => "nvme",
            SimModel::Ram => "ram",
        }
    }
}

/// A field of the device that a fault sets.
enum Knob<'a> {
    Share(&'a mut f64),
    Time(&'a mut Option<Nanos>),
    Size(&'a mut Bytes),
    Switch(&'a mut bool),
}

const FAULTS: &[&str] = &[
    "slow",
    "cv",
    "drift",
    "bimodal",
    "bimodal-slow",
    "plot",
    "background",
    "throttle",
    "throttle-slow",
    "resync",
    "cached",
    "write-cache",
    "lying-flush",
    "errors",
    "short",
    "stall",
];

impl SimDevice {
    /// The one table of faults: parsing and printing both go through it.
    fn knob(&mut self, fault: &str) -> Option<Knob<'_>> {
        Some(match fault {
            "slow" => Knob::Share(&mut self.slow),
            "cv" => Knob::Share(&mut self.cv),
            "drift" => Knob::Share(&mut self.drift),
            "bimodal" => Knob::Share(&mut self.bimodal),
            "bimodal-slow" => Knob::Share(&mut self.bimodal_slow),
            "plot" => Knob::Share(&mut self.plot),
            "background" => Knob::Share(&mut self.background),
            "throttle" => Knob::Time(&mut self.throttle_after),
            "throttle-slow" => Knob::Share(&mut self.throttle_slow),
            "resync" => Knob::Share(&mut self.resync),
            "cached" => Knob::Share(&mut self.cached),
            "write-cache" => Knob::Size(&mut self.write_cache),
            "lying-flush" => Knob::Switch(&mut self.lying_flush),
            "errors" => Knob::Share(&mut self.errors),
            "short" => Knob::Share(&mut self.short),
            "stall" => Knob::Time(&mut self.stall),
            _ => return None,
        })
    }
}

impl FromStr for SimDevice {
    type Err = SimError;
    fn from_str(text: &str) -> Result<SimDevice, SimError> {
        let bare = text.strip_prefix("sim:").ok_or_else(|| SimError::Model(text.to_owned()))?;
        let (model, faults) = bare.split_once('?').unwrap_or((bare, ""));
        let model =
            SimModel::ALL.into_iter().find(|m| m.name() == model).ok_or_else(|| SimError::Model(text.to_owned()))?;
        let mut device = SimDevice::healthy(model);
        for assignment in faults.split('&').filter(|part| !part.is_empty()) {
            let (fault, value) = assignment.split_once('=').unwrap_or((assignment, ""));
            let error = |expected| SimError::Value { fault: fault.to_owned(), value: value.to_owned(), expected };
            match device.knob(fault) {
                None => {
                    return Err(SimError::Fault { fault: fault.to_owned(), known: FAULTS.join(", ") });
                }
                Some(Knob::Share(share)) => {
                    let parsed = match value.strip_suffix('%') {
                        Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
                        None => value.parse::<f64>(),
                    };
                    *share = parsed
                        .ok()
                        .filter(|share| (0.0..=100.0).contains(share))
                        .ok_or_else(|| error("a share such as `5%` or `0.05`"))?;
                }
                Some(Knob::Time(time)) => *time = Some(value.parse().map_err(|_| error("a time such as `30s`"))?),
                Some(Knob::Size(size)) => *size = value.parse().map_err(|_| error("a size such as `256MiB`"))?,
                Some(Knob::Switch(switch)) if value.is_empty() => *switch = true,
                Some(Knob::Switch(_)) => return Err(error("a fault that takes no value")),
            }
        }
        Ok(device)
    }
}

/// `sim:MODEL`, and only the faults that differ from a healthy device; parsing it gives the same device back.
impl fmt::Display for SimDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sim:{}", self.model.name())?;
        let (mut own, mut healthy) = (self.clone(), SimDevice::healthy(self.model));
        let mut separator = '?';
        for fault in FAULTS {
            let text = match (own.knob(fault), healthy.knob(fault)) {
                (Some(Knob::Share(a)), Some(Knob::Share(b))) if a != b => format!("{fault}={a}"),
                (Some(Knob::Time(Some(a))), Some(Knob::Time(b))) if Some(*a) != *b => format!("{fault}={a}"),
                (Some(Knob::Size(a)), Some(Knob::Size(b))) if a != b => format!("{fault}={a}"),
                (Some(Knob::Switch(true)), _) => (*fault).to_owned(),
                _ => continue,
            };
            write!(f, "{separator}{text}")?;
            separator = '&';
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_device_agree_both_ways() {
        for text in ["sim:hdd", "sim:ssd?slow=0.05", "sim:nvme?throttle=30s&write-cache=256MiB&lying-flush&stall=5s"] {
            let device: SimDevice = text.parse().unwrap();
            assert_eq!(device.to_string(), text);
        }
        assert_eq!("sim:hdd?slow=5%".parse::<SimDevice>().unwrap().slow, 0.05);
    }

    #[test]
    fn every_fault_of_the_table_has_a_field() {
        let mut device = SimDevice::healthy(SimModel::Hdd);
        assert!(FAULTS.iter().all(|fault| device.knob(fault).is_some()));
    }

    #[test]
    fn errors_name_the_fault_and_the_way_out() {
        let unknown = "sim:hdd?slwo=5%".parse::<SimDevice>().unwrap_err().to_string();
        assert!(unknown.contains("slwo") && unknown.contains("slow"), "{unknown}");
        assert!("sim:floppy".parse::<SimDevice>().unwrap_err().to_string().contains("sim:nvme"));
    }
}
