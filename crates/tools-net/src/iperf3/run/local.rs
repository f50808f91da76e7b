//! Settings of this end that the other end does not decide: socket options, deadlines, its file.

use super::control::TestError;
use plumb_engine::guard::{Access, FileOpening, GuardedFile, Intent, IoMode, Permissions, WrittenContent};
use plumb_engine::net::{KeepAlive, SocketOptions};
use plumb_tools_net::iperf3::{Iperf3Settings, Params};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Local {
    /// Network interface of all sockets.
    pub device: Option<String>,
    /// Timeout of acknowledgements, ms.
    pub send_ms: Option<u32>,
    /// Time after which a test that receives nothing is ended.
    pub receive: Duration,
    /// Keepalive of the control connection.
    pub keep_alive: KeepAlive,
    /// File that streams are sent from or received into.
    pub file: Option<Arc<StreamFile>>,
}

impl Local {
    /// Returns the settings of a command line.
    pub fn from_settings(settings: &Iperf3Settings, permissions: &Permissions) -> Local {
        let file = |path| StreamFile {
            path: PathBuf::from(path),
            permissions: permissions.clone(),
            received: Mutex::new(None),
        };
        let usual = KeepAlive::default();
        let [idle, interval, count] = settings.keep_alive;
        Local {
            device: settings.device.clone(),
            send_ms: settings.send_ms,
            receive: Duration::from_millis(settings.receive_ms),
            keep_alive: KeepAlive {
                idle_s: idle.unwrap_or(usual.idle_s),
                interval_s: interval.unwrap_or(usual.interval_s),
                count: count.unwrap_or(usual.count),
            },
            file: settings.file.as_ref().map(|path| Arc::new(file(path))),
        }
    }

    /// Returns the options of sockets that belong to no test.
    pub fn plain(&self) -> SocketOptions {
        SocketOptions { device: self.device.clone(), ..SocketOptions::default() }
    }

    /// Returns the socket options of a test's streams.
    pub fn options(&self, params: &Params) -> SocketOptions {
        SocketOptions {
            no_delay: params.socket.no_delay || params.trips.response > 0,
            window: params.socket.window,
            segment: params.socket.segment,
            service: Some(params.socket.service).filter(|&service| service > 0),
            congestion: params.socket.congestion.clone(),
            large_receive_buffer: params.transport.udp,
            pacing: params.pace.kernel_rate.map(|rate| rate / 8),
            unacknowledged_ms: self.send_ms,
            whole: params.socket.whole,
            flow_label: params.socket.flow_label,
            multipath: params.transport.multipath,
            sctp: params.transport.sctp,
            ..self.plain()
        }
    }

    /// Returns the socket options of accepted streams.
    pub fn accepted(&self, params: &Params) -> SocketOptions {
        // Only the connecting end sets a flow label.
        SocketOptions { flow_label: None, ..self.options(params) }
    }

    /// Opens the file of a stream, with its own offset.
    pub fn open_file(&self, params: &Params, sends: bool) -> Result<Option<File>, TestError> {
        // Round trips transfer no file.
        let file = self.file.as_ref().filter(|_| params.trips.response == 0 && !params.transport.udp);
        file.map(|file| file.open(sends, params.end.bytes)).transpose()
    }

    /// Returns the name of the file and its current size.
    pub(crate) fn file_facts(&self, params: &Params) -> Option<(String, u64)> {
        let file = self.file.as_ref().filter(|_| params.trips.response == 0 && !params.transport.udp)?;
        Some((file.path.display().to_string(), file.bytes()))
    }
}

#[derive(Debug)]
pub struct StreamFile {
    path: PathBuf,
    permissions: Permissions,
    /// The file opened for writing; later tests overwrite it.
    received: Mutex<Option<GuardedFile>>,
}

impl StreamFile {
    /// Returns the length, bytes; 0 if the file does not exist.
    pub fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    fn open(&self, sends: bool, bytes: u64) -> Result<File, TestError> {
        let failed = |error: &dyn std::fmt::Display| TestError::File(error.to_string());
        if sends {
            return File::open(&self.path).map_err(|error| failed(&format!("{}: {error}", self.path.display())));
        }
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &*received {
            Some(file) => {
                file.file().set_len(0).map_err(|error| failed(&error))?;
                file
            }
            None => {
                // Received bytes are arbitrary, so the file counts as the user's data.
                let guard = plumb_engine::write_guard(self.permissions.clone()).writing(WrittenContent::Users);
                let opening = FileOpening { intent: Intent::Truncate, mode: IoMode::Buffered, needed_bytes: bytes };
                received.insert(guard.open_file(&self.path, opening).map_err(|refusal| failed(&refusal))?)
            }
        };
        file.again(Access::ReadWrite, IoMode::Buffered).map_err(|refusal| failed(&refusal))
    }
}
