//! Certificates in files, which are loaded again when they change.

use std::{error::Error, path::PathBuf, sync::Arc};

use super::{CertificateKeyPair, DynamicCertificate, KeyPairError, client_ca::ClientCa};
use crate::runtime::files::{FileContents, FileError, FileSet};

/// Most bytes of a file; no certificate has more.
const MAX_FILE: u64 = 1 << 20;

/// The files of a TLS listener in PEM, which are read again when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those between it and its CA.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// CAs of clients. `None`: clients show no certificate.
    pub client_ca: Option<ClientCaFile>,
}

/// A file with CAs of clients, and whether clients need a certificate of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCaFile {
    /// Only clients with a certificate may connect.
    Required(PathBuf),
    /// Clients may also connect without a certificate.
    Optional(PathBuf),
}

/// Files in PEM that are loaded together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateFiles {
    /// A certificate and its key.
    KeyPair {
        /// The certificate, and those between it and its CA.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// CAs of clients.
    ClientCa(ClientCaFile),
}

/// Why files cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CertificateFileError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The files can be read, but not served.
    #[error("{files}: {error}")]
    Load {
        /// The file to blame, or both.
        files: String,
        /// Why they cannot be served.
        #[source]
        error: KeyPairError,
    },
}

impl ClientCaFile {
    fn path(&self) -> &PathBuf {
        match self {
            Self::Required(path) | Self::Optional(path) => path,
        }
    }
}

impl CertificateFiles {
    /// Loads the files into `certificate`, and returns the task that loads them again at every change. It never ends.
    pub async fn serve(
        self,
        certificate: Arc<DynamicCertificate>,
    ) -> Result<impl Future<Output = ()> + Send + use<>, CertificateFileError> {
        let files = self.set();
        let contents = files.read().await?;
        self.load(&contents, &certificate)?;
        Ok(files.watch(contents, move |read| match read {
            Ok(contents) => {
                if let Err(error) = self.load(contents, &certificate) {
                    let error = with_causes(&error);
                    tracing::error!(error, "the new files cannot be used; the previous certificate stays");
                }
            }
            Err(error) => {
                certificate.metrics().reloaded("kept");
                tracing::error!(%error, "the files cannot be read; the previous certificate stays");
            }
        }))
    }

    fn set(&self) -> FileSet {
        let paths = match self {
            Self::KeyPair { certificate, key } => vec![certificate.clone(), key.clone()],
            Self::ClientCa(file) => vec![file.path().clone()],
        };
        FileSet::new(paths, MAX_FILE)
    }

    fn load(&self, contents: &FileContents, served: &DynamicCertificate) -> Result<(), CertificateFileError> {
        let loaded = match (self, contents.0.as_slice()) {
            (Self::KeyPair { .. }, [certificate, key]) => {
                served.replace(&CertificateKeyPair { certificate: certificate.clone(), key: key.clone() })
            }
            (_, contents) => {
                let is_required = !matches!(self, Self::ClientCa(ClientCaFile::Optional(_)));
                served.set_client_ca(ClientCa { pem: contents.concat(), is_required })
            }
        };
        loaded.map_err(|error| CertificateFileError::Load { files: self.to_blame(&error), error })
    }

    /// The files that an error is about.
    fn to_blame(&self, error: &KeyPairError) -> String {
        match (self, error) {
            (Self::ClientCa(file), _) => file.path().display().to_string(),
            (Self::KeyPair { certificate: path, .. }, KeyPairError::Certificate(_))
            | (Self::KeyPair { key: path, .. }, KeyPairError::Key(_)) => path.display().to_string(),
            (Self::KeyPair { certificate, key }, _) => format!("{}, {}", certificate.display(), key.display()),
        }
    }
}

/// An error with its causes, each named once.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
