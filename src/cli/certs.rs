//! `roster certs`: shows certificates, and issues certificates for development.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use roster_engine::model::dns;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde::Serialize;

use super::{
    help_end::help_end,
    outcome::Outcome,
    output::{Output, OutputFormat},
    printable::printable,
    style::{GREEN, RED, YELLOW},
    table::{Cell, Table},
};
use crate::runtime::{
    certificates::{CertificateLifetimes, Material, advance},
    clock::Clock,
    tls::{CertificateInfo, ValidityError},
};

/// Show certificates, or issue certificates for a trial of the webhook.
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
"Exit codes: 0 success, 1 a certificate has expired or expires within 14 days (show), 2 usage error, or a file \
                  that cannot be read or written.",
"roster certs show tls.crt",
"roster certs dev --dir certs --name webhook.example.com",
)
)]
pub(super) struct Certs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the names and the expiry of certificates
    Show(Show),
    /// Issue a CA and a certificate, and write ca.crt, ca.key, tls.crt and tls.key into a folder. Existing files are not
    /// overwritten without --force
    Dev(Dev),
}

#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 success, 1 a certificate has expired or expires within 14 days, 2 usage error, or a file that cannot be read.",
    "roster certs show tls.crt",
    "roster certs show /etc/kubernetes/pki/apiserver.crt ca.crt -o json",
))]
struct Show {
    /// PEM files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 success, 2 usage error, or a file that cannot be written.",
    "roster certs dev",
    "roster certs dev --dir certs --name webhook.example.com --force",
))]
struct Dev {
    /// The folder; it is created if it does not exist
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    dir: PathBuf,
    /// DNS names and IP addresses of the certificate
    #[arg(long, value_name = "NAME", default_values = ["localhost", "127.0.0.1", "::1"], value_parser = host_name)]
    name: Vec<String>,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

/// A certificate in a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CertificateRow {
    file: String,
    subject: String,
    issuer: String,
    names: Vec<String>,
    not_before: Timestamp,
    not_after: Timestamp,
    days_left: i64,
    state: &'static str,
}

#[derive(Serialize)]
struct CertificateRows {
    items: Vec<CertificateRow>,
}

/// Certificates with fewer days left are reported.
const SOON_DAYS: i64 = 14;

/// A DNS name, which may begin with `*.`, or an IP address: no client accepts a certificate for anything else.
fn host_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("*.").unwrap_or(text).to_ascii_lowercase();
    if text.parse::<IpAddr>().is_ok() || dns::is_subdomain(name.as_bytes()) {
        Ok(text.to_owned())
    } else {
        Err("not a DNS name or an IP address".to_owned())
    }
}

impl Certs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let now = Clock::system().now();
        match &self.command {
            Command::Show(show) => show.run(now),
            Command::Dev(dev) => dev.run(now),
        }
    }
}

impl Show {
    fn run(&self, now: Timestamp) -> anyhow::Result<Outcome> {
        let mut items = Vec::new();
        for file in &self.files {
            items.extend(read(file, now)?);
        }
        let findings = items.iter().any(|row| row.state != "valid");
        let mut out = Output::stdout(self.output);
        if self.output.is_table() {
            let mut table = Table::new(["FILE", "STATE", "ENDS", "DAYS", "SUBJECT", "NAMES"]);
            for row in items {
                let style = match row.state {
                    "valid" => GREEN,
                    "ends soon" => YELLOW,
                    _ => RED,
                };
                table.push([
                    row.file.into(),
                    Cell::styled(row.state, style),
                    row.not_after.to_string().into(),
                    row.days_left.to_string().into(),
                    row.subject.into(),
                    row.names.join(", ").into(),
                ]);
            }
            table.print(&mut out, 0)?;
        } else {
            out.document(self.output, &CertificateRows { items })?;
        }
        out.flush()?;
        Ok(if findings { Outcome::Findings } else { Outcome::Success })
    }
}

fn read(file: &Path, now: Timestamp) -> anyhow::Result<Vec<CertificateRow>> {
    let name = file.display().to_string();
    #[expect(clippy::disallowed_methods, reason = "the shell: a file that was named as an argument")]
    let text = fs::read(file).with_context(|| name.clone())?;
    let certificates: Result<Vec<CertificateDer<'_>>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.with_context(|| name.clone())?;
    anyhow::ensure!(!certificates.is_empty(), "{name}: the file contains no certificate");
    let rows = certificates.iter().map(|certificate| {
        let info = CertificateInfo::of(certificate).with_context(|| format!("{name}: not an X.509 certificate"))?;
        Ok(CertificateRow::of(name.clone(), info, now))
    });
    rows.collect()
}

impl CertificateRow {
    fn of(file: String, info: CertificateInfo, now: Timestamp) -> Self {
        let days_left = info.seconds_left(now).div_euclid(86_400);
        let state = match info.valid(now) {
            Ok(()) if days_left < SOON_DAYS => "ends soon",
            Ok(()) => "valid",
            Err(ValidityError::Expired(_)) => "expired",
            Err(ValidityError::NotYet(_)) => "not valid yet",
        };
        let CertificateInfo { not_before, not_after, names, subject, issuer } = info;
        Self { file, subject, issuer, names, not_before, not_after, days_left, state }
    }
}

impl Dev {
    fn run(&self, now: Timestamp) -> anyhow::Result<Outcome> {
        fs::create_dir_all(&self.dir).with_context(|| self.dir.display().to_string())?;
        let (material, _) = advance(now, Material::default(), true, &self.name, &CertificateLifetimes::default())?;
        // Keys first: a certificate without its key is useless.
        let files = [
            ("ca.key", &material.ca_key, 0o600),
            ("tls.key", &material.key, 0o600),
            ("ca.crt", &material.bundle, 0o644),
            ("tls.crt", &material.certificate, 0o644),
        ];
        let existing = files.iter().map(|(name, ..)| self.dir.join(name)).find(|path| path.exists());
        if let Some(path) = existing.filter(|_| !self.force) {
            anyhow::bail!("{} already exists; use --force to overwrite it", path.display());
        }
        for (name, text, mode) in files {
            let path = self.dir.join(name);
            write(&path, text, mode).with_context(|| path.display().to_string())?;
        }
        let mut out = Output::stdout(OutputFormat::Table);
        let (dir, names) = (self.dir.display().to_string(), self.name.join(", "));
        let (dir, names) = (printable(&dir), printable(&names));
        writeln!(out, "wrote ca.crt, ca.key, tls.crt and tls.key into {dir}, for {names}")?;
        writeln!(
            out,
            "\n  roster serve --webhook-listen 127.0.0.1:8443 --tls-cert-file {dir}/tls.crt --tls-private-key-file {dir}/tls.key"
        )?;
        out.flush()?;
        Ok(Outcome::Success)
    }
}

/// Writes a new file that has its mode from the beginning.
fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(text.as_bytes())
}
