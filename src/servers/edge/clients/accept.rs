//! Content negotiation: which requests the cache answers, and how its objects are encoded.

use axum::http::{HeaderMap, header};

use crate::servers::edge::encoding::body_encoding::BodyEncoding;

/// The most media types that are looked at.
const MOST: usize = 32;

/// What a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptedForm {
    /// JSON as it is stored. It counts before protobuf, in whatever order a client names them: it needs no work.
    Json,
    /// Protobuf, and no JSON of the same objects.
    Protobuf,
    /// A form that only the API server makes, such as a `Table`; JSON will do where there is no API server.
    ApiServerFormOrJson,
    /// A form that only the API server makes.
    ApiServerForm,
    /// Neither JSON nor protobuf: CBOR or YAML.
    OtherEncoding,
}

/// A media type with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AcceptedType {
    encoding: BodyEncoding,
    /// Whether it asks for another kind with `as=`.
    is_transformed: bool,
    weight: f32,
}

impl AcceptedForm {
    /// Reads the headers `Accept`; without any, everything is accepted. Of types with equal weights the first one counts.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let clauses = values.flat_map(|value| value.split(',')).map(str::trim).filter(|clause| !clause.is_empty());
        let mut types: Vec<AcceptedType> = clauses.take(MOST).filter_map(AcceptedType::read).collect();
        if types.is_empty() {
            return if headers.contains_key(header::ACCEPT) { Self::OtherEncoding } else { Self::Json };
        }
        types.retain(|t| t.weight > 0.0);
        // Stable: of equal weights, the first stays first.
        types.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let mut of_json = types.iter().filter(|t| t.encoding == BodyEncoding::Json);
        let has_json = of_json.clone().any(|t| !t.is_transformed);
        match (of_json.next(), types.first()) {
            (Some(best), _) if !best.is_transformed => Self::Json,
            (Some(_), _) if has_json => Self::ApiServerFormOrJson,
            (_, Some(best)) if !best.is_transformed => Self::Protobuf,
            (Some(_), _) => Self::ApiServerForm,
            (None, _) if types.iter().any(|t| !t.is_transformed) => Self::Protobuf,
            (None, _) => Self::OtherEncoding,
        }
    }
}

impl AcceptedType {
    fn read(clause: &str) -> Option<Self> {
        let mut parts = clause.split(';').map(str::trim);
        let essence = parts.next()?.to_ascii_lowercase();
        let (mut weight, mut is_transformed) = (1.0, false);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim().to_ascii_lowercase().as_str() {
                "q" => weight = value.trim().parse::<f32>().ok().filter(|w| (0.0..=1.0).contains(w)).unwrap_or(0.0),
                "as" => is_transformed = true,
                _ => {}
            }
        }
        let encoding = match essence.as_str() {
            "application/json" | "application/*" | "*/*" => BodyEncoding::Json,
            "application/vnd.kubernetes.protobuf" => BodyEncoding::Protobuf,
            _ => return None,
        };
        Some(Self { encoding, is_transformed, weight })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a15_p15_tables_and_protobuf_are_not_json() {
        use AcceptedForm::{ApiServerForm, ApiServerFormOrJson, Json, OtherEncoding, Protobuf};
        const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
        for (accept, want) in [
            (&[][..], Json),
            (&["application/json"], Json),
            (&["*/*"], Json),
            (&["application/vnd.kubernetes.protobuf, */*"], Json),
            (&["application/vnd.kubernetes.protobuf,application/json"], Json),
            (&["application/vnd.kubernetes.protobuf", "application/json"], Json),
            (&[TABLE, "application/json"], ApiServerFormOrJson),
            (&["application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"], ApiServerForm),
            (&["application/json;q=0.1,application/json;as=Table;q=0.9"], ApiServerFormOrJson),
            (&["application/json;q=0.9,application/json;as=Table;q=0.1"], Json),
            (&["application/vnd.kubernetes.protobuf"], Protobuf),
            (&["application/vnd.kubernetes.protobuf;stream=watch, application/yaml"], Protobuf),
            (&["application/vnd.kubernetes.protobuf,application/json;q=0"], Protobuf),
            (&["application/vnd.kubernetes.protobuf;q=0"], OtherEncoding),
            (&["application/vnd.kubernetes.protobuf", TABLE], Protobuf),
            (&[TABLE, "application/vnd.kubernetes.protobuf"], ApiServerForm),
            (&["application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io"], OtherEncoding),
            (&["application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", TABLE, "*/*"], ApiServerFormOrJson),
            (&["application/yaml"], OtherEncoding),
            (&["application/cbor;stream=watch"], OtherEncoding),
            (&["APPLICATION/JSON; Q=1"], Json),
            (&["application/json;q=x"], OtherEncoding),
            (&[""], OtherEncoding),
        ] {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(header::ACCEPT, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(AcceptedForm::of(&headers), want, "{accept:?}");
        }
    }
}
