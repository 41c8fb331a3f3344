//! Metrics of the process, by the names that Prometheus' client libraries give them.
//!
//! They are read from `/proc` when they are asked for. Where there is no `/proc`, there are no such metrics.

use std::{fmt, fs, sync::OnceLock};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};
use rustix::{
    param::{clock_ticks_per_second, page_size},
    process::{Resource, getrlimit},
};

/// The metrics of the process.
#[derive(Debug, Default)]
pub(super) struct ProcessMetrics {
    /// When the machine was started, in seconds since 1970. It is read once: when the clock of the machine is set, the kernel tells
    /// another time, and the process would seem to have started again.
    boot: OnceLock<Option<u64>>,
}

/// The values of a process.
struct ProcessValues {
    usage: ProcessUsage,
    open_files: u64,
    /// `None`: there is no limit.
    max_files: Option<u64>,
    start_seconds: f64,
}

/// What `/proc/self/stat` tells of a process, in its units.
#[derive(Debug, PartialEq, Eq)]
struct ProcessUsage {
    cpu_ticks: u64,
    /// Since the machine was started.
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl ProcessUsage {
    /// Reads the line of `/proc/self/stat`. The name of the program, in parentheses, may contain anything.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // The first field after the name is number 3 of the manual page proc(5).
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)?.saturating_add(field(15)?),
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// The time at which the machine was started, of the text of `/proc/stat`.
fn boot_seconds(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[expect(clippy::disallowed_methods, reason = "a file of the kernel, which is never slow")]
fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floating-point numbers")]
fn float(number: u64) -> f64 {
    number as f64
}

fn seconds(ticks: u64) -> f64 {
    float(ticks) / float(clock_ticks_per_second())
}

impl ProcessMetrics {
    fn values(&self) -> Option<ProcessValues> {
        let usage = ProcessUsage::parse(&read("/proc/self/stat")?)?;
        let boot = (*self.boot.get_or_init(|| boot_seconds(&read("/proc/stat")?)))?;
        Some(ProcessValues {
            start_seconds: float(boot) + seconds(usage.start_ticks),
            usage,
            open_files: fs::read_dir("/proc/self/fd").ok()?.count() as u64,
            max_files: getrlimit(Resource::Nofile).current,
        })
    }
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(ProcessValues { usage, open_files, max_files, start_seconds }) = self.values() else { return Ok(()) };
        let cpu = ConstCounter::new(seconds(usage.cpu_ticks));
        let help = "Total user and system CPU time spent in seconds";
        cpu.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, cpu.metric_type())?)?;
        for (name, help, value) in [
            ("process_open_fds", "Number of open file descriptors", float(open_files)),
            // Without a limit, as client_golang has it.
            ("process_max_fds", "Maximum number of open file descriptors", float(max_files.unwrap_or(u64::MAX))),
            ("process_resident_memory_bytes", "Resident memory size in bytes", resident(usage.resident_pages)),
            ("process_virtual_memory_bytes", "Virtual memory size in bytes", float(usage.virtual_bytes)),
            ("process_start_time_seconds", "Start time of the process since unix epoch in seconds", start_seconds),
        ] {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

fn resident(pages: u64) -> f64 {
    float(pages.saturating_mul(page_size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let rest = "S 1 1 1 0 -1 4194560 9 0 0 0 150 50 0 0 20 0 7 0 3000 4096000 25 18446744073709551615 1 1";
        let usage = ProcessUsage { cpu_ticks: 200, start_ticks: 3000, virtual_bytes: 4_096_000, resident_pages: 25 };
        for name in ["roster", "a b", ") S 2 (", "", "("] {
            assert_eq!(ProcessUsage::parse(&format!("7 ({name}) {rest}\n")).as_ref(), Some(&usage), "{name}");
        }
        for line in ["", "7 (roster", "7 (roster) S 1 1", "7 (roster) S 1 1 1 0 -1 4194560 9 0 0 0 x 50"] {
            assert_eq!(ProcessUsage::parse(line), None, "{line}");
        }
    }

    #[test]
    fn this_process_has_plausible_values() {
        let metrics = ProcessMetrics::default();
        let first = metrics.values().unwrap();
        assert!(first.usage.resident_pages > 0 && first.usage.virtual_bytes > first.usage.resident_pages);
        let _open = fs::read_dir("/proc/self").unwrap();
        let then = metrics.values().unwrap();
        assert!(then.usage.cpu_ticks >= first.usage.cpu_ticks);
        assert!((then.start_seconds - first.start_seconds).abs() < f64::EPSILON);
        #[expect(clippy::disallowed_methods, reason = "a test of the clock")]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - 3600.0 * 24.0..now + 2.0).contains(&then.start_seconds), "{} {now}", then.start_seconds);
    }
}
