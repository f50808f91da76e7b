//! Names for `-k`, `-o` and `-O`, each with its title. Lines of a title are separated by `|`.

use super::exchange::Direction;

/// All selectors, in the order of `ALL`. Source: the output of netperf 2.7.0.
#[rustfmt::skip]
pub const SELECTORS: &[(&str, &str)] = &[
    ("SOCKET_TYPE", "Socket|Type"),
    ("PROTOCOL", "Protocol"),
    ("DIRECTION", "Direction"),
    ("ELAPSED_TIME", "Elapsed|Time|(sec)"),
    ("THROUGHPUT", "Throughput"),
    ("THROUGHPUT_UNITS", "Throughput|Units"),
    ("LSS_SIZE_REQ", "Local|Send Socket|Size|Requested"),
    ("LSS_SIZE", "Local|Send Socket|Size|Initial"),
    ("LSS_SIZE_END", "Local|Send Socket|Size|Final"),
    ("LSR_SIZE_REQ", "Local|Recv Socket|Size|Requested"),
    ("LSR_SIZE", "Local|Recv Socket|Size|Initial"),
    ("LSR_SIZE_END", "Local|Recv Socket|Size|Final"),
    ("RSS_SIZE_REQ", "Remote|Send Socket|Size|Requested"),
    ("RSS_SIZE", "Remote|Send Socket|Size|Initial"),
    ("RSS_SIZE_END", "Remote|Send Socket|Size|Final"),
    ("RSR_SIZE_REQ", "Remote|Recv Socket|Size|Requested"),
    ("RSR_SIZE", "Remote|Recv Socket|Size|Initial"),
    ("RSR_SIZE_END", "Remote|Recv Socket|Size|Final"),
    ("LOCAL_SEND_SIZE", "Local|Send|Size"),
    ("LOCAL_RECV_SIZE", "Local|Recv|Size"),
    ("REMOTE_SEND_SIZE", "Remote|Send|Size"),
    ("REMOTE_RECV_SIZE", "Remote|Recv|Size"),
    ("REQUEST_SIZE", "Request|Size|Bytes"),
    ("RESPONSE_SIZE", "Response|Size|Bytes"),
    ("LOCAL_CPU_UTIL", "Local|CPU|Util|%"),
    ("LOCAL_CPU_PERCENT_USER", "Local|CPU|User|%"),
    ("LOCAL_CPU_PERCENT_SYSTEM", "Local|CPU|System|%"),
    ("LOCAL_CPU_PERCENT_IOWAIT", "Local|CPU|I/O|%"),
    ("LOCAL_CPU_PERCENT_IRQ", "Local|CPU|IRQ|%"),
    ("LOCAL_CPU_PERCENT_SWINTR", "Local|CPU|swintr|%"),
    ("LOCAL_CPU_METHOD", "Local|CPU|Util|Method"),
    ("LOCAL_SD", "Local|Service|Demand"),
    ("REMOTE_CPU_UTIL", "Remote|CPU|Util|%"),
    ("REMOTE_CPU_PERCENT_USER", "Remote|CPU|User|%"),
    ("REMOTE_CPU_PERCENT_SYSTEM", "Remote|CPU|System|%"),
    ("REMOTE_CPU_PERCENT_IOWAIT", "Remote|CPU|I/O|%"),
    ("REMOTE_CPU_PERCENT_IRQ", "Remote|CPU|IRQ|%"),
    ("REMOTE_CPU_PERCENT_SWINTR", "Remote|CPU|swintr|%"),
    ("REMOTE_CPU_METHOD", "Remote|CPU|Util|Method"),
    ("REMOTE_SD", "Remote|Service|Demand"),
    ("SD_UNITS", "Service|Demand|Units"),
    ("CONFIDENCE_LEVEL", "Confidence|Level|Percent"),
    ("CONFIDENCE_INTERVAL", "Confidence|Width|Target"),
    ("CONFIDENCE_ITERATION", "Confidence|Iterations|Run"),
    ("THROUGHPUT_CONFID", "Throughput|Confidence|Width (%)"),
    ("LOCAL_CPU_CONFID", "Local|CPU|Confidence|Width (%)"),
    ("REMOTE_CPU_CONFID", "Remote|CPU|Confidence|Width (%)"),
    ("TRANSACTION_RATE", "Transaction|Rate|Tran/s"),
    ("RT_LATENCY", "Round|Trip|Latency|usec/tran"),
    ("BURST_SIZE", "Initial|Burst|Requests"),
    ("LOCAL_TRANSPORT_RETRANS", "Local|Transport|Retransmissions"),
    ("REMOTE_TRANSPORT_RETRANS", "Remote|Transport|Retransmissions"),
    ("TRANSPORT_MSS", "Transport|MSS|bytes"),
    ("LOCAL_SEND_THROUGHPUT", "Local|Send|Throughput"),
    ("LOCAL_RECV_THROUGHPUT", "Local|Recv|Throughput"),
    ("REMOTE_SEND_THROUGHPUT", "Remote|Send|Throughput"),
    ("REMOTE_RECV_THROUGHPUT", "Remote|Recv|Throughput"),
    ("LOCAL_CPU_BIND", "Local|CPU|Bind"),
    ("LOCAL_CPU_COUNT", "Local|CPU|Count"),
    ("LOCAL_CPU_PEAK_UTIL", "Local|Peak|Per CPU|Util %"),
    ("LOCAL_CPU_PEAK_ID", "Local|Peak|Per CPU|ID"),
    ("LOCAL_CPU_MODEL", "Local|CPU|Model"),
    ("LOCAL_CPU_FREQUENCY", "Local|CPU|Frequency|MHz"),
    ("REMOTE_CPU_BIND", "Remote|CPU|Bind"),
    ("REMOTE_CPU_COUNT", "Remote|CPU|Count"),
    ("REMOTE_CPU_PEAK_UTIL", "Remote|Peak|Per CPU|Util %"),
    ("REMOTE_CPU_PEAK_ID", "Remote|Peak|Per CPU|ID"),
    ("REMOTE_CPU_MODEL", "Remote|CPU|Model"),
    ("REMOTE_CPU_FREQUENCY", "Remote|CPU|Frequency|MHz"),
    ("SOURCE_PORT", "Source|Port"),
    ("SOURCE_ADDR", "Source|Address"),
    ("SOURCE_FAMILY", "Source|Family"),
    ("DEST_PORT", "Destination|Port"),
    ("DEST_ADDR", "Destination|Address"),
    ("DEST_FAMILY", "Destination|Family"),
    ("LOCAL_SEND_CALLS", "Local|Send|Calls"),
    ("LOCAL_RECV_CALLS", "Local|Recv|Calls"),
    ("LOCAL_BYTES_PER_RECV", "Local|Bytes|Per|Recv"),
    ("LOCAL_BYTES_PER_SEND", "Local|Bytes|Per|Send"),
    ("LOCAL_BYTES_SENT", "Local|Bytes|Sent"),
    ("LOCAL_BYTES_RECVD", "Local|Bytes|Received"),
    ("LOCAL_BYTES_XFERD", "Local|Bytes|Xferred"),
    ("LOCAL_SEND_OFFSET", "Local|Send|Offset"),
    ("LOCAL_RECV_OFFSET", "Local|Recv|Offset"),
    ("LOCAL_SEND_ALIGN", "Local|Send|Alignment"),
    ("LOCAL_RECV_ALIGN", "Local|Recv|Alignment"),
    ("LOCAL_SEND_WIDTH", "Local|Send|Width"),
    ("LOCAL_RECV_WIDTH", "Local|Recv|Width"),
    ("LOCAL_SEND_DIRTY_COUNT", "Local|Send|Dirty|Count"),
    ("LOCAL_RECV_DIRTY_COUNT", "Local|Recv|Dirty|Count"),
    ("LOCAL_RECV_CLEAN_COUNT", "Local|Recv|Clean|Count"),
    ("LOCAL_NODELAY", "Local|NODELAY"),
    ("LOCAL_CORK", "Local|Cork"),
    ("REMOTE_SEND_CALLS", "Remote|Send|Calls"),
    ("REMOTE_RECV_CALLS", "Remote|Recv|Calls"),
    ("REMOTE_BYTES_PER_RECV", "Remote|Bytes|Per|Recv"),
    ("REMOTE_BYTES_PER_SEND", "Remote|Bytes|Per|Send"),
    ("REMOTE_BYTES_SENT", "Remote|Bytes|Sent"),
    ("REMOTE_BYTES_RECVD", "Remote|Bytes|Received"),
    ("REMOTE_BYTES_XFERD", "Remote|Bytes|Xferred"),
    ("REMOTE_SEND_OFFSET", "Remote|Send|Offset"),
    ("REMOTE_RECV_OFFSET", "Remote|Recv|Offset"),
    ("REMOTE_SEND_ALIGN", "Remote|Send|Alignment"),
    ("REMOTE_RECV_ALIGN", "Remote|Recv|Alignment"),
    ("REMOTE_SEND_WIDTH", "Remote|Send|Width"),
    ("REMOTE_RECV_WIDTH", "Remote|Recv|Width"),
    ("REMOTE_SEND_DIRTY_COUNT", "Remote|Send|Dirty|Count"),
    ("REMOTE_RECV_DIRTY_COUNT", "Remote|Recv|Dirty|Count"),
    ("REMOTE_RECV_CLEAN_COUNT", "Remote|Recv|Clean|Count"),
    ("REMOTE_NODELAY", "Remote|NODELAY"),
    ("REMOTE_CORK", "Remote|Cork"),
    ("LOCAL_SYSNAME", "Local|Sysname"),
    ("LOCAL_SYSTEM_MODEL", "Local|System|Model"),
    ("LOCAL_RELEASE", "Local|Release"),
    ("LOCAL_VERSION", "Local|Version"),
    ("LOCAL_MACHINE", "Local|Machine"),
    ("REMOTE_SYSNAME", "Remote|Sysname"),
    ("REMOTE_SYSTEM_MODEL", "Remote|System|Model"),
    ("REMOTE_RELEASE", "Remote|Release"),
    ("REMOTE_VERSION", "Remote|Version"),
    ("REMOTE_MACHINE", "Remote|Machine"),
    ("LOCAL_INTERFACE_NAME", "Local|Interface|Name"),
    ("LOCAL_INTERFACE_VENDOR", "Local|Interface|Vendor"),
    ("LOCAL_INTERFACE_DEVICE", "Local|Interface|Device"),
    ("LOCAL_INTERFACE_SUBVENDOR", "Local|Interface|Subvendor"),
    ("LOCAL_INTERFACE_SUBDEVICE", "Local|Interface|Subdevice"),
    ("LOCAL_DRIVER_NAME", "Local|Driver|Name"),
    ("LOCAL_DRIVER_VERSION", "Local|Driver|Version"),
    ("LOCAL_DRIVER_FIRMWARE", "Local|Driver|Firmware"),
    ("LOCAL_DRIVER_BUS", "Local|Driver|Bus"),
    ("LOCAL_INTERFACE_SLOT", "Local|Interface|Slot"),
    ("REMOTE_INTERFACE_NAME", "Remote|Interface|Name"),
    ("REMOTE_INTERFACE_VENDOR", "Remote|Interface|Vendor"),
    ("REMOTE_INTERFACE_DEVICE", "Remote|Interface|Device"),
    ("REMOTE_INTERFACE_SUBVENDOR", "Remote|Interface|Subvendor"),
    ("REMOTE_INTERFACE_SUBDEVICE", "Remote|Interface|Subdevice"),
    ("REMOTE_DRIVER_NAME", "Remote|Driver|Name"),
    ("REMOTE_DRIVER_VERSION", "Remote|Driver|Version"),
    ("REMOTE_DRIVER_FIRMWARE", "Remote|Driver|Firmware"),
    ("REMOTE_DRIVER_BUS", "Remote|Driver|Bus"),
    ("REMOTE_INTERFACE_SLOT", "Remote|Interface|Slot"),
    ("LOCAL_INTERVAL_USECS", "Local|Interval|Usecs"),
    ("LOCAL_INTERVAL_BURST", "Local|Interval|Burst"),
    ("REMOTE_INTERVAL_USECS", "Remote|Interval|Usecs"),
    ("REMOTE_INTERVAL_BURST", "Remote|Interval|Burst"),
    ("LOCAL_SECURITY_TYPE_ID", "Local|OS|Security|Type ID"),
    ("LOCAL_SECURITY_TYPE", "Local|OS|Security|Type"),
    ("LOCAL_SECURITY_ENABLED_NUM", "Local|OS|Security|Enabled Num"),
    ("LOCAL_SECURITY_ENABLED", "Local|OS|Security|Enabled"),
    ("LOCAL_SECURITY_SPECIFIC", "Local|OS|Security|Specific"),
    ("REMOTE_SECURITY_TYPE_ID", "Remote|OS|Security|Type"),
    ("REMOTE_SECURITY_TYPE", "Remote|OS|Security|Type"),
    ("REMOTE_SECURITY_ENABLED_NUM", "Remote|OS|Security|Enabled"),
    ("REMOTE_SECURITY_ENABLED", "Remote|OS|Security|Enabled"),
    ("REMOTE_SECURITY_SPECIFIC", "Remote|OS|Security|Specific"),
    ("RESULT_BRAND", "Result|Tag"),
    ("UUID", "Test|UUID"),
    ("MIN_LATENCY", "Minimum|Latency|Microseconds"),
    ("MAX_LATENCY", "Maximum|Latency|Microseconds"),
    ("P50_LATENCY", "50th|Percentile|Latency|Microseconds"),
    ("P90_LATENCY", "90th|Percentile|Latency|Microseconds"),
    ("P99_LATENCY", "99th|Percentile|Latency|Microseconds"),
    ("MEAN_LATENCY", "Mean|Latency|Microseconds"),
    ("STDDEV_LATENCY", "Stddev|Latency|Microseconds"),
    ("LOCAL_SOCKET_PRIO", "Local|Socket|Priority"),
    ("REMOTE_SOCKET_PRIO", "Remote|Socket|Priority"),
    ("LOCAL_SOCKET_TOS", "Local|Socket|TOS"),
    ("REMOTE_SOCKET_TOS", "Remote|Socket|TOS"),
    ("LOCAL_CONG_CONTROL", "Local|Congestion|Control|Algorithm"),
    ("REMOTE_CONG_CONTROL", "Remote|Congestion|Control|Algorithm"),
    ("LOCAL_FILL_FILE", "Local|Fill|File"),
    ("REMOTE_FILL_FILE", "Remote|Fill|File"),
    ("COMMAND_LINE", "Command|Line"),
];

/// Selectors at which `ALL` starts another block of columns.
pub(super) const BLOCKS: [&str; 3] = ["LOCAL_CPU_UTIL", "LOCAL_SEND_THROUGHPUT", "LOCAL_SYSNAME"];

/// Parses a list of selectors: names with commas, or `ALL`. The result is empty if the text is.
///
/// # Errors
/// An unknown name.
pub fn list(text: &str) -> Result<Vec<&'static str>, String> {
    let mut found = Vec::new();
    for name in text.split([',', ';', '\n']).map(str::trim).filter(|name| !name.is_empty()) {
        if name.eq_ignore_ascii_case("ALL") {
            found.extend(SELECTORS.iter().map(|row| row.0));
            continue;
        }
        let row = SELECTORS.iter().find(|row| row.0.eq_ignore_ascii_case(name));
        found.push(row.ok_or_else(|| name.to_owned())?.0);
    }
    Ok(found)
}

/// Columns of CPU utilization at both ends, which follow those of [`usual`] if either end measures it.
const OF_PROCESSORS: &str = "LOCAL_CPU_UTIL,LOCAL_CPU_PERCENT_USER,LOCAL_CPU_PERCENT_SYSTEM,LOCAL_CPU_PERCENT_IOWAIT,\
    LOCAL_CPU_PERCENT_IRQ,LOCAL_CPU_PERCENT_SWINTR,LOCAL_CPU_METHOD,REMOTE_CPU_UTIL,REMOTE_CPU_PERCENT_USER,\
    REMOTE_CPU_PERCENT_SYSTEM,REMOTE_CPU_PERCENT_IOWAIT,REMOTE_CPU_PERCENT_IRQ,REMOTE_CPU_PERCENT_SWINTR,REMOTE_CPU_METHOD,\
    LOCAL_SD,REMOTE_SD,SD_UNITS";

/// Returns the default selectors. Source: output of netperf 2.7.0.
pub(super) fn usual(direction: Direction, with_cpu: bool) -> Vec<&'static str> {
    let names = match direction {
        Direction::ToServer => "LSS_SIZE_END,RSR_SIZE_END,LOCAL_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS",
        Direction::ToClient => "RSS_SIZE_END,LSR_SIZE_END,REMOTE_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS",
        Direction::RoundTrips => {
            "LSS_SIZE_END,LSR_SIZE_END,RSR_SIZE_END,RSS_SIZE_END,REQUEST_SIZE,RESPONSE_SIZE,ELAPSED_TIME,THROUGHPUT,\
             THROUGHPUT_UNITS"
        }
    };
    let mut columns = list(names).unwrap_or_default();
    if with_cpu {
        columns.extend(list(OF_PROCESSORS).unwrap_or_default());
    }
    columns
}
