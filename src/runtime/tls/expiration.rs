//! The metric of when the served certificate expires.

use std::{fmt, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
};

use super::DynamicCertificate;
use crate::runtime::clock::Clock;

/// The seconds until a certificate expires, computed for every scrape.
#[derive(Debug)]
pub(crate) struct Expiration {
    pub(crate) name: &'static str,
    pub(crate) certificate: Arc<DynamicCertificate>,
    pub(crate) clock: Clock,
}

impl Collector for Expiration {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let served = self.certificate.current();
        let seconds = served.map_or(0, |served| served.info.seconds_left(self.clock.now()));
        let gauge = ConstGauge::new(seconds);
        let metric = encoder.encode_descriptor(
            self.name,
            "Seconds until the served certificate expires; negative when it has",
            None,
            gauge.metric_type(),
        )?;
        gauge.encode(metric)
    }
}
