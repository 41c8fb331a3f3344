//! Clients with a certificate: whether it is still one of the CA, and the user that it names, as Kubernetes reads it.

use std::sync::Arc;

use serde::Serialize;

use super::caller::unauthorized;
use crate::runtime::{
    clock::Clock,
    status_error::StatusError,
    tls::{CertificateSubject, ClientChain, DynamicCertificate},
};

/// Knows clients by their certificates.
#[derive(Clone, Debug)]
pub(crate) struct ClientCertificates {
    pub(crate) served: Arc<DynamicCertificate>,
    pub(crate) clock: Clock,
}

impl ClientCertificates {
    /// The user of a client. As an API server does, it looks at the certificate for each request: since the handshake, it may
    /// have expired, or the CA may be another one.
    pub(crate) fn user(&self, client: &ClientChain) -> Result<CertificateUser, StatusError> {
        self.served.verify_client(client, self.clock.now()).map_err(|why| {
            let why = format!("the client certificate is not valid any more: {why}");
            unauthorized(&why)
        })?;
        let user = client.subject().and_then(CertificateUser::of);
        user.ok_or_else(|| unauthorized("the client certificate names no user: its subject has no CN that can be read"))
    }
}

/// The group of everybody whom an API server knows.
const AUTHENTICATED: &str = "system:authenticated";
/// Who has this name or group is not known, whatever its credentials are.
const ANONYMOUS: &str = "system:anonymous";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A user and its groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CertificateUser {
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
}

impl CertificateUser {
    /// The user of a subject, as `CommonNameUserConversion` and `AuthenticatedGroupAdder` of Kubernetes read it: CN is the
    /// name, and each O a group. `None`: a certificate without a name is nobody's.
    pub(crate) fn of(subject: CertificateSubject) -> Option<Self> {
        let CertificateSubject { common_name: user, organizations: mut groups } = subject;
        if user.is_empty() {
            return None;
        }
        let has = |name: &str| groups.iter().any(|group| group == name);
        if user != ANONYMOUS && !has(AUTHENTICATED) && !has(UNAUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Some(Self { user, groups })
    }

    /// A text that differs for different users.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        serde_json::json!([self.user, self.groups]).to_string().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cn_is_the_user_and_each_o_a_group() {
        for (cn, organizations, want) in [
            ("system:kube-proxy", &[][..], Some(&["system:authenticated"][..])),
            ("u", &["a", "b"], Some(&["a", "b", "system:authenticated"])),
            ("u", &["system:authenticated", "a"], Some(&["system:authenticated", "a"])),
            ("u", &["system:unauthenticated"], Some(&["system:unauthenticated"])),
            ("system:anonymous", &["a"], Some(&["a"])),
            ("", &["a"], None),
        ] {
            let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let subject = CertificateSubject { common_name: cn.to_owned(), organizations: owned(organizations) };
            let want = want.map(|groups| CertificateUser { user: cn.to_owned(), groups: owned(groups) });
            assert_eq!(CertificateUser::of(subject), want, "{cn} {organizations:?}");
        }
    }
}
