//! The flags of who may call the REST API, and how.

use std::path::PathBuf;

use clap::Args;

use crate::{
    kube_api::ClusterChoice,
    runtime::{
        allowed_hosts::HostName,
        tls::{ClientCaFile, TlsFiles},
    },
    servers::rest::AccessOptions,
};

/// The flags of who may call the REST API, and how.
#[derive(Debug, Args)]
pub(super) struct AccessArgs {
    /// Additional host that requests of the REST API and the admin listener may name, against DNS rebinding. Repeat it for
    /// more. On loopback, localhost and loopback addresses are allowed; on other addresses, hosts are checked only with
    /// this flag
    #[arg(long = "allowed-host", value_name = "NAME", help_heading = "Access")]
    pub(super) allowed_hosts: Vec<HostName>,
    /// Certificate of the REST API in PEM, with its intermediate certificates. Read again when it changes
    #[arg(long, value_name = "FILE", help_heading = "Access", requires = "rest_tls_private_key_file")]
    rest_tls_cert_file: Option<PathBuf>,
    /// Key of that certificate in PEM
    #[arg(long, value_name = "FILE", help_heading = "Access", requires = "rest_tls_cert_file")]
    rest_tls_private_key_file: Option<PathBuf>,
    /// Accept only clients of the REST API with a certificate of one of these CAs (PEM). Read again when it changes
    #[arg(long, value_name = "FILE", help_heading = "Access", requires = "rest_tls_cert_file")]
    rest_client_ca_file: Option<PathBuf>,
    /// Tokens of the REST API, one for each line, of at least 16 characters: /v1/… and /metrics need the header
    /// `Authorization: Bearer TOKEN`. Read again when it changes
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    token_file: Option<PathBuf>,
    /// Let the page show the Services of a cluster: the one of --kubeconfig, KUBECONFIG, ~/.kube/config, or around the pod. Each
    /// request carries the token that its user enters, and never an identity of this server. Needs TLS or a loopback address
    #[arg(long, help_heading = "Access")]
    pub(super) page_cluster: bool,
}

impl AccessArgs {
    /// The options of the flags. `cluster` is the chosen one.
    pub(super) fn options(&self, cluster: ClusterChoice) -> AccessOptions {
        let files = self.rest_tls_cert_file.clone().zip(self.rest_tls_private_key_file.clone());
        let client_ca = self.rest_client_ca_file.clone().map(ClientCaFile::Required);
        let tls = files.map(|(certificate, key)| TlsFiles { certificate, key, client_ca });
        let page_cluster = self.page_cluster.then_some(cluster);
        AccessOptions { tls, token_file: self.token_file.clone(), page_cluster }
    }
}
