//! Measurements of the network to other hosts, stored as printed, with columns for the figures that SQL needs.

use crate::open::Durability;
use crate::time::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::Network;
use rusqlite::params;

impl Store {
    /// Stores a measurement of `plumb net` under its id.
    pub fn save_network(&mut self, net: &Network) -> Result<(), StoreError> {
        let body = canonical::text(&canonical::value("the measurement", net)?);
        let at = nanos(net.started_at.parse().unwrap_or_else(|_| Timestamp::now()));
        let trips = |during: &str| net.round_trips.iter().find(|trips| trips.during == during);
        let p99 = |during: &str| trips(during).and_then(|trips| trips.p99_ns).map(|ns| ns as i64);
        let rate = |direction: &str| {
            net.throughput.iter().find(|row| row.direction == direction).map(|row| row.bytes_per_second)
        };
        let jitter = net.datagrams.iter().map(|row| row.jitter_ns).reduce(f64::max);
        let sent = net.datagrams.iter().filter(|row| row.packets > 0);
        let loss = sent.map(|row| row.lost as f64 / row.packets as f64).reduce(f64::max);
        let idle = trips("idle").and_then(|trips| trips.p50_ns).map(|ns| ns as i64);
        self.write("storing a measurement of the network", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO network (id, measured_at, host, port, error, idle_p50_ns, idle_p99_ns, receiving_p99_ns,
                                      sending_p99_ns, receive_bytes_per_second, send_bytes_per_second, jitter_ns, loss, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                params![
                    net.id,
                    at,
                    net.host,
                    net.port,
                    net.error,
                    idle,
                    p99("idle"),
                    p99("receiving"),
                    p99("sending"),
                    rate("receive"),
                    rate("send"),
                    jitter,
                    loss,
                    body
                ],
            )?;
            Ok(())
        })
    }

    /// Returns all measurements of a host and port, oldest first.
    pub fn networks(&self, host: &str, port: u16) -> Result<Vec<Network>, StoreError> {
        let failed = self.failed("reading measurements of the network");
        let sql = "SELECT id, body FROM network WHERE host = ?1 AND port = ?2 ORDER BY measured_at, id";
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let rows: Vec<(String, String)> = statement
            .query_map(params![host, port], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .map_err(&failed)?;
        let read = |(id, body): (String, String)| {
            plumb_document::json::from_str(&body).map_err(|error| self.unreadable(&id, "the measurement", error))
        };
        rows.into_iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::{NET_SCHEMA, RoundTrips};

    // Protects series over days: measurements and failures come back complete and in order, by host and port.
    #[test]
    fn measurements_are_kept_by_host() {
        let place = tempfile::tempdir().unwrap();
        let mut store = Store::open(&place.path().join("plumb.db")).unwrap();
        let of = |id: &str, hour: u32, host: &str| Network {
            schema: NET_SCHEMA.to_owned(),
            id: id.to_owned(),
            started_at: format!("2026-11-27T{hour:02}:00:00Z"),
            host: host.to_owned(),
            port: 5201,
            round_trips: vec![RoundTrips { during: "idle".to_owned(), p99_ns: Some(7), ..RoundTrips::default() }],
            ..Network::default()
        };
        let failed = Network { error: Some("Connection refused".to_owned()), ..of("c", 7, "nas") };
        for net in [&of("a", 9, "nas"), &of("b", 8, "other"), &failed] {
            store.save_network(net).unwrap();
        }
        assert_eq!(store.networks("nas", 5201).unwrap(), [failed, of("a", 9, "nas")]);
        assert_eq!(store.networks("nas", 5202).unwrap(), []);
    }
}
