//! The host in its pod, seen from the machine.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::bench::figures::{Pss, processor_time, pss};
use crate::demo::access::Access;

const PLACE: [&str; 4] =
    ["--namespace", "pilothouse-system", "--selector", "app.kubernetes.io/name=pilothouse"];

/// The process, and where it tells its figures.
#[derive(Debug)]
pub(super) struct Host {
    pid: u32,
    metrics: String,
}

/// What it took in a time in which nothing was to be done.
#[derive(Debug)]
pub(super) struct Rest {
    watched: Duration,
    processor: Duration,
    calls: f64,
    memory: Pss,
}

impl Host {
    /// Finds it.
    pub(super) fn find(access: &Access) -> Result<Self> {
        let address = "--output=jsonpath={.items[0].status.podIP}";
        let address = access.kubectl(&[["get", "pods"].as_slice(), &PLACE, &[address]].concat())?;
        let metrics = format!("http://{}:8080/metrics", address.trim());
        let pid = processes()?.context("no process of this machine is the host in its pod")?;
        Ok(Self { pid, metrics })
    }

    pub(super) fn memory(&self) -> Result<Pss> {
        pss(self.pid)
    }

    /// Looks away for a time, and says what it took.
    pub(super) fn watch(&self, time: Duration) -> Result<Rest> {
        let (processor, calls) = (processor_time(self.pid)?, self.calls()?);
        std::thread::sleep(time);
        Ok(Rest {
            watched: time,
            processor: processor_time(self.pid)?.saturating_sub(processor),
            calls: self.calls()? - calls,
            memory: self.memory()?,
        })
    }

    fn calls(&self) -> Result<f64> {
        let text = ureq::get(&self.metrics).call()?.body_mut().read_to_string()?;
        let lines = text.lines().filter(|line| line.starts_with("pilothouse_hook_calls_total"));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }
}

/// The one whose program is that of the image.
fn processes() -> Result<Option<u32>> {
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if line.starts_with(b"/pilothouse\0run\0") {
            return Ok(Some(pid));
        }
    }
    Ok(None)
}

impl Rest {
    /// The figures, with those of before for comparison.
    pub(super) fn table(&self, clusters: usize, (before, _): Pss) -> String {
        let mib = |kilobytes: u64| kilobytes as f64 / 1024.0;
        let each = (mib(self.memory.0) - mib(before)) * 1024.0 / clusters as f64;
        let minutes = self.watched.as_secs_f64() / 60.0;
        let calls = self.calls / minutes / clusters as f64;
        format!(
            "| clusters at rest | PSS before, MiB | PSS with them, MiB | KiB for each | processor, ms a minute | hook calls a minute for each |\n\
             |---|---|---|---|---|---|\n\
             | {clusters} | {:.1} | {:.1} | {each:.0} | {:.0} | {calls:.2} |",
            mib(before),
            mib(self.memory.0),
            self.processor.as_secs_f64() * 1000.0 / minutes,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_for_a_minute_and_a_cluster() {
        let rest = Rest {
            watched: Duration::from_secs(30),
            processor: Duration::from_millis(50),
            calls: 25.0,
            memory: (20_480, 0),
        };
        let table = rest.table(50, (10_240, 0));
        assert!(table.ends_with("| 50 | 10.0 | 20.0 | 205 | 100 | 1.00 |"), "{table}");
    }
}
