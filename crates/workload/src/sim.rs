//! The simulated device: a model with injected faults, written `sim:MODEL?fault=value&…`.

mod sessions;

pub use sessions::SimSessions;

use crate::units::{Bytes, Nanos, Share, UnitError};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Model of the simulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum SimModel {
    /// A 7200 rpm disk: seek, rotation, 200 MB/s media, one op at a time, volatile write cache.
    Hdd,
    /// A SATA SSD: 80 µs reads, 32 ops at once, 550 MB/s link.
    Ssd,
    /// An NVMe drive: 70 µs reads, 64 ops at once, 3.5 GB/s.
    Nvme,
    /// Memory with 1 µs per op.
    Ram,
}

/// A simulated device with its faults. All shares are between 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct SimDevice {
    pub model: SimModel,
    /// `slow=5%`: service times are longer by this share.
    pub slow: f64,
    /// `cv=3%`: coefficient of variation of a run's speed around its mean (log-normal, one draw per run).
    pub cv: f64,
    /// `drift=0.5%`: each further run is slower by this share.
    pub drift: f64,
    /// `bimodal=20%`: share of runs that are slow …
    pub bimodal: f64,
    /// `bimodal-slow=25%`: … and how much slower they are.
    pub bimodal_slow: f64,
    /// `plot=6%`: coefficient of variation between provisionings.
    pub plot: f64,
    /// `background=10%`: share of the device's time that other users take.
    pub background: f64,
    /// `throttle=30s`: after this much busy time …
    pub throttle_after: Option<Nanos>,
    /// `throttle-slow=50%`: … the device is slower by this share …
    pub throttle_slow: f64,
    /// `throttle-rate=50MiB`: … or passes exactly this many bytes per second, like a token bucket that has run
    /// dry; 0 means no such limit.
    pub throttle_rate: Bytes,
    /// `resync=30%`: share of the device's time that a RAID resync takes.
    pub resync: f64,
    /// `cached=60%`: share of reads that the page cache answers.
    pub cached: f64,
    /// `write-cache=256MiB`: page cache that absorbs writes until a flush; 0 means none.
    pub write_cache: Bytes,
    /// `lying-flush`: flushes return at once without making anything durable.
    pub lying_flush: bool,
    /// `errors=0.1%`: share of ops that fail with EIO.
    pub errors: f64,
    /// `short=0.1%`: share of reads that return half.
    pub short: f64,
    /// `stall=5s`: one op of the run takes this long.
    pub stall: Option<Nanos>,
    /// `holes=30%`: share of the target, in pieces of 1 MiB, that was never written, so that reading it does not
    /// reach the device. A run's first write fills all holes.
    pub holes: f64,
    /// `empty`: reads return 0 bytes at once, as past the end of a file.
    pub empty: bool,
    /// `serial`: a worker's op completes before its next one is accepted, at any depth.
    pub serial: bool,
    /// `thin=50%`: a run's first write to each MiB takes longer by this share, as with thin provisioning.
    pub thin: f64,
    /// `hot`: the temperature is above the warning limit. If the device throttles, it counts each time.
    pub hot: bool,
    /// `worn=90%`: share of the rated life that is used up.
    pub worn: f64,
    /// `carry=10%`: slows down the comparison's next run, on any device, by this share; each run halves the debt.
    pub carry: f64,
    /// Differences between sessions, as on a shared machine.
    pub sessions: Box<SimSessions>,
}

impl SimDevice {
    /// Returns a healthy device of this model.
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
            throttle_rate: Bytes(0),
            resync: 0.0,
            cached: 0.0,
            write_cache: Bytes(0),
            lying_flush: false,
            errors: 0.0,
            short: 0.0,
            stall: None,
            holes: 0.0,
            empty: false,
            serial: false,
            thin: 0.0,
            hot: false,
            worn: 0.0,
            carry: 0.0,
            sessions: Box::new(SimSessions::CALM),
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
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SimDevice {
    fn schema_name() -> Cow<'static, str> {
        "SimDevice".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "a simulated device such as `sim:hdd?slow=5%`" })
    }
}

/// Error from parsing a simulated device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    #[error("unknown simulated device `{0}`; supported: `sim:hdd`, `sim:ssd`, `sim:nvme`, `sim:ram`")]
    Model(String),
    #[error("unknown fault `{fault}` of a simulated device; supported: {known}")]
    Fault { fault: String, known: String },
    /// Invalid value of a fault.
    #[error("`{fault}={value}` is not {expected}")]
    Value { fault: String, value: String, expected: &'static str },
}

impl SimModel {
    /// Returns the name that follows `sim:`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Field of the device that a fault sets.
enum Knob<'a> {
    Share(&'a mut f64),
    Time(&'a mut Option<Nanos>),
    Size(&'a mut Bytes),
    Switch(&'a mut bool),
}

/// A fault that can be injected into a simulated device: one row of [`FAULTS`].
pub struct Fault {
    /// Text before the `=`.
    pub name: &'static str,
    /// Effect in one line, and where a probe would see it.
    pub about: &'static str,
    /// Largest share that makes sense, which may exceed 1; `None` for a fault that is not a share.
    pub largest_share: Option<f64>,
    knob: for<'a> fn(&'a mut SimDevice) -> Knob<'a>,
}

impl Fault {
    /// Returns the device's share for this fault; `None` for a fault that is not a share.
    pub fn share(&self, device: &SimDevice) -> Option<f64> {
        match (self.knob)(&mut device.clone()) {
            Knob::Share(share) => Some(*share),
            Knob::Time(_) | Knob::Size(_) | Knob::Switch(_) => None,
        }
    }

    fn named(name: &str) -> Option<&'static Fault> {
        FAULTS.iter().find(|fault| fault.name == name)
    }
}

/// Limit for slowdowns, which can exceed 1, and for shares of a whole, which cannot.
const ANY: Option<f64> = Some(100.0);
const OF_ALL: Option<f64> = Some(1.0);
/// Limit for shares of the device's time, of which something must remain.
const OF_DEVICE: Option<f64> = Some(0.95);

/// All faults in the order of printing. The parser, printer, validation and documentation read this table.
pub static FAULTS: &[Fault] = &[
    Fault {
        name: "slow",
        about: "every op takes longer by this share",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.slow),
    },
    Fault {
        name: "cv",
        about: "coefficient of variation of the speed of runs: one log-normal draw per run; default 1 %",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.cv),
    },
    Fault {
        name: "drift",
        about: "each further run is slower by this share",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.drift),
    },
    Fault {
        name: "bimodal",
        about: "share of the runs that are in a slow mode",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.bimodal),
    },
    Fault {
        name: "bimodal-slow",
        about: "ops in the slow mode take longer by this share; default 25 %",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.bimodal_slow),
    },
    Fault {
        name: "plot",
        about: "coefficient of variation of the speed of plots: one log-normal draw each",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.plot),
    },
    Fault {
        name: "background",
        about: "share of the device's time that a neighbour takes; the device's counters include its bytes, and its \
                process is visible",
        largest_share: OF_DEVICE,
        knob: |device| Knob::Share(&mut device.background),
    },
    Fault {
        name: "throttle",
        about: "the device slows down after this much busy time",
        largest_share: None,
        knob: |device| Knob::Time(&mut device.throttle_after),
    },
    Fault {
        name: "throttle-slow",
        about: "by this share; default 50 %",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.throttle_slow),
    },
    Fault {
        name: "throttle-rate",
        about: "or to exactly this many bytes per second, like a token bucket that has run dry",
        largest_share: None,
        knob: |device| Knob::Size(&mut device.throttle_rate),
    },
    Fault {
        name: "resync",
        about: "share of the device's time that a RAID resync takes; the counters include its bytes, and `sync_action` shows it",
        largest_share: OF_DEVICE,
        knob: |device| Knob::Share(&mut device.resync),
    },
    Fault {
        name: "cached",
        about: "share of reads that the page cache serves although it was dropped; it is visible as resident pages",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.cached),
    },
    Fault {
        name: "write-cache",
        about: "page cache that absorbs writes until a flush; they are visible as dirty pages",
        largest_share: None,
        knob: |device| Knob::Size(&mut device.write_cache),
    },
    Fault {
        name: "lying-flush",
        about: "flushes return at once and never reach the device",
        largest_share: None,
        knob: |device| Knob::Switch(&mut device.lying_flush),
    },
    Fault {
        name: "errors",
        about: "share of ops that fail with EIO; the kernel's log has a line for the first few",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.errors),
    },
    Fault {
        name: "short",
        about: "share of reads that return half",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.short),
    },
    Fault {
        name: "stall",
        about: "one op of the run takes this long",
        largest_share: None,
        knob: |device| Knob::Time(&mut device.stall),
    },
    Fault {
        name: "holes",
        about: "share of the target that is unwritten when the run starts; its extents show it, and reads of it do \
                not reach the device",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.holes),
    },
    Fault {
        name: "empty",
        about: "reads return 0 bytes at once, as past the end of a file",
        largest_share: None,
        knob: |device| Knob::Switch(&mut device.empty),
    },
    Fault {
        name: "serial",
        about: "a worker has one op in flight at any requested depth",
        largest_share: None,
        knob: |device| Knob::Switch(&mut device.serial),
    },
    Fault {
        name: "thin",
        about: "the first write of a run to each MiB takes longer by this share",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.thin),
    },
    Fault {
        name: "hot",
        about: "its temperature is above the warning limit, and it counts each throttling",
        largest_share: None,
        knob: |device| Knob::Switch(&mut device.hot),
    },
    Fault {
        name: "worn",
        about: "share of its rated life that is used",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.worn),
    },
    Fault {
        name: "carry",
        about: "the next run of the same comparison, on whichever device, is slower by this share; each further run by \
                half of the run before it, and debts add up",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.carry),
    },
    Fault {
        name: "session",
        about: "coefficient of variation of the speed of sessions: one log-normal draw each; a session of a gate on history is a plot",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.sessions.spread),
    },
    Fault {
        name: "session-tails",
        about: "the draws of `session` have heavy tails: Student's t with 3 degrees of freedom, of the same spread",
        largest_share: None,
        knob: |device| Knob::Switch(&mut device.sessions.tails),
    },
    Fault {
        name: "session-memory",
        about: "correlation of the draws of neighbouring sessions",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.sessions.memory),
    },
    Fault {
        name: "session-walk",
        about: "the level of each session is the one before, times a log-normal step of this coefficient of variation",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.sessions.walk),
    },
    Fault {
        name: "session-drift",
        about: "each further session is slower by this share",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.sessions.drift),
    },
    Fault {
        name: "session-slow",
        about: "share of the sessions that are slow",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.sessions.slow),
    },
    Fault {
        name: "session-slow-by",
        about: "ops in a slow session take longer by this share; default 25 %",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.sessions.slow_by),
    },
    Fault {
        name: "session-switch",
        about: "chance that a session changes to the other of two levels",
        largest_share: OF_ALL,
        knob: |device| Knob::Share(&mut device.sessions.switch),
    },
    Fault {
        name: "session-switch-by",
        about: "ops at the slower level take longer by this share; default 10 %",
        largest_share: ANY,
        knob: |device| Knob::Share(&mut device.sessions.switch_by),
    },
];

impl FromStr for SimDevice {
    type Err = SimError;
    fn from_str(text: &str) -> Result<SimDevice, SimError> {
        let bare = text.strip_prefix("sim:").ok_or_else(|| SimError::Model(text.to_owned()))?;
        let (model, faults) = bare.split_once('?').unwrap_or((bare, ""));
        let model = model.parse().map_err(|_| SimError::Model(text.to_owned()))?;
        let mut device = SimDevice::healthy(model);
        for assignment in faults.split('&').filter(|part| !part.is_empty()) {
            let (fault, value) = assignment.split_once('=').unwrap_or((assignment, ""));
            let error = |expected| SimError::Value { fault: fault.to_owned(), value: value.to_owned(), expected };
            let Some(row) = Fault::named(fault) else {
                let known: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
                return Err(SimError::Fault { fault: fault.to_owned(), known: known.join(", ") });
            };
            match (row.knob)(&mut device) {
                Knob::Share(share) => {
                    let Share(typed) = value.parse().map_err(|unit: UnitError| error(unit.expected))?;
                    *share =
                        Some(typed).filter(|share| *share <= 100.0).ok_or_else(|| error("a share up to `10000%`"))?;
                }
                Knob::Time(time) => *time = Some(value.parse().map_err(|_| error("a time such as `30s`"))?),
                Knob::Size(size) => *size = value.parse().map_err(|_| error("a size such as `256MiB`"))?,
                Knob::Switch(switch) if value.is_empty() => *switch = true,
                Knob::Switch(_) => return Err(error("a fault that takes no value")),
            }
        }
        Ok(device)
    }
}

/// Prints `sim:MODEL` and the faults that differ from a healthy device. Parsing the text gives the same device.
impl fmt::Display for SimDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sim:{}", self.model.name())?;
        let (mut own, mut healthy) = (self.clone(), SimDevice::healthy(self.model));
        let mut separator = '?';
        for &Fault { name, knob, .. } in FAULTS {
            let text = match (knob(&mut own), knob(&mut healthy)) {
                (Knob::Share(a), Knob::Share(b)) if a != b && *a > 1.0 => format!("{name}={}%", *a * 100.0),
                (Knob::Share(a), Knob::Share(b)) if a != b => format!("{name}={a}"),
                (Knob::Time(Some(a)), Knob::Time(b)) if Some(*a) != *b => format!("{name}={a}"),
                (Knob::Size(a), Knob::Size(b)) if a != b => format!("{name}={a}"),
                (Knob::Switch(true), _) => name.to_owned(),
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
        for text in
            ["sim:hdd", "sim:ssd?slow=0.05", "sim:nvme?throttle=30s&throttle-rate=50MiB&lying-flush&stall=5s&serial"]
        {
            let device: SimDevice = text.parse().unwrap();
            assert_eq!(device.to_string(), text);
        }
        assert_eq!("sim:hdd?slow=5%".parse::<SimDevice>().unwrap().slow, 0.05);
    }

    #[test]
    fn every_fault_has_its_own_field_and_description() {
        for fault in FAULTS {
            assert!(!fault.about.is_empty(), "{}", fault.name);
            let value = match (fault.knob)(&mut SimDevice::healthy(SimModel::Hdd)) {
                Knob::Share(_) => "=0.123",
                Knob::Time(_) => "=7s",
                Knob::Size(_) => "=7MiB",
                Knob::Switch(_) => "",
            };
            let text = format!("sim:hdd?{}{value}", fault.name);
            assert_eq!(text.parse::<SimDevice>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_fault_and_the_fix() {
        let unknown = "sim:hdd?slwo=5%".parse::<SimDevice>().unwrap_err().to_string();
        assert!(unknown.contains("slwo") && unknown.contains("slow"), "{unknown}");
        let bare = "sim:hdd?slow=5".parse::<SimDevice>().unwrap_err().to_string();
        assert!(bare.contains("percent sign"), "{bare}");
        assert!("sim:floppy".parse::<SimDevice>().unwrap_err().to_string().contains("sim:nvme"));
    }
}
