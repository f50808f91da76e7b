//! When a job's next op may start: rates by kind, pauses, goals of latency, flows.
