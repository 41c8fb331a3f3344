//! Which objects of a resource a request is about.

use roster_engine::model::{LabelQuery, Resource, Text, label_query::distinct_conditions};

use super::{raw_object::ObjectName, served_object::ServedObject};

/// Which objects of a resource a list or a watch is about: all conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Only this namespace.
    pub(crate) namespace: Option<Text>,
    /// What fields must be like.
    pub(crate) fields: Vec<FieldTest>,
    pub(crate) labels: LabelQuery,
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldTest {
    pub(crate) field: SelectedField,
    pub(crate) value: Text,
    /// Whether the field must have the value, or must not.
    pub(super) is_equal: bool,
}

/// A field by which objects may be selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectedField {
    /// `metadata.name`
    Name,
    /// `metadata.namespace`
    Namespace,
    /// `spec.clusterIP` of a Service: kube-proxy from 1.35 leaves out headless Services by it
    ClusterIp,
    /// `spec.type` of a Service
    ServiceType,
}

impl SelectedField {
    const ALL: [Self; 4] = [Self::Name, Self::Namespace, Self::ClusterIp, Self::ServiceType];

    fn path(self) -> &'static str {
        match self {
            Self::Name => "metadata.name",
            Self::Namespace => "metadata.namespace",
            Self::ClusterIp => "spec.clusterIP",
            Self::ServiceType => "spec.type",
        }
    }

    /// Whether objects of the resource have it.
    fn is_of(self, resource: Resource) -> bool {
        matches!(self, Self::Name | Self::Namespace) || resource == Resource::Service
    }
}

impl Selection {
    /// Whether an object is among them.
    pub(crate) fn matches(&self, name: &ObjectName, object: &ServedObject) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == name.namespace)
            && self.fields.iter().all(|test| test.holds(name, object))
            && self.labels.matches(object.labels())
    }

    /// Whether objects of any name, field and label are among them.
    pub(super) fn has_no_condition(&self) -> bool {
        self.fields.is_empty() && self.labels == LabelQuery::default()
    }

    /// An error if objects of the resource do not have one of the fields.
    pub(crate) fn check_fields(&self, resource: Resource) -> Result<(), String> {
        let other = self.fields.iter().find(|test| !test.field.is_of(resource));
        other.map_or(Ok(()), |test| Err(not_supported(test.field.path())))
    }

    /// The only name that an object among them can have.
    pub(crate) fn only_name(&self) -> Option<&Text> {
        let is_name = |test: &&FieldTest| test.field == SelectedField::Name && test.is_equal;
        self.fields.iter().find(is_name).map(|test| &test.value)
    }
}

impl FieldTest {
    fn holds(&self, name: &ObjectName, object: &ServedObject) -> bool {
        let field = match self.field {
            SelectedField::Name => &name.name,
            SelectedField::Namespace => &name.namespace,
            SelectedField::ClusterIp => &object.service_fields().cluster_ip,
            SelectedField::ServiceType => &object.service_fields().service_type,
        };
        (*field == self.value) == self.is_equal
    }

    /// Reads the text of a field selector: conditions that commas separate.
    pub(crate) fn read_all(text: &str) -> Result<Vec<Self>, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        distinct_conditions(parts.map(Self::read))
    }

    fn read(text: &str) -> Result<Self, String> {
        let (field, value, is_equal) = if let Some((field, value)) = text.split_once("!=") {
            (field, value, false)
        } else if let Some((field, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            (field, value, true)
        } else {
            return Err(format!("invalid field selector: {text:?} is neither FIELD=VALUE nor FIELD!=VALUE"));
        };
        let field = SelectedField::ALL.into_iter().find(|f| f.path() == field).ok_or_else(|| not_supported(field))?;
        Ok(Self { field, value: value.into(), is_equal })
    }
}

fn not_supported(field: &str) -> String {
    format!("field label not supported: {field}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::servers::edge::cache::raw_object::RawObject;

    #[test]
    fn services_are_selected_by_their_fields() {
        let text = |spec: &str| format!(r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{spec}}}"#);
        let of = |spec: &str| {
            ServedObject::whole(Resource::Service, Arc::new(RawObject::read(Resource::Service, &text(spec)).unwrap()))
        };
        let services =
            [r#"{"clusterIP":"10.96.0.1","type":"NodePort"}"#, r#"{"clusterIP":"None","type":"ClusterIP"}"#, "null"];
        for (selector, want) in [
            ("", [true, true, true]),
            ("spec.clusterIP!=None", [true, false, true]),
            ("spec.clusterIP=None", [false, true, false]),
            ("spec.type=NodePort,spec.clusterIP==10.96.0.1", [true, false, false]),
            ("spec.clusterIP=", [false, false, true]),
            ("metadata.name=a,metadata.namespace!=n", [false, false, false]),
        ] {
            let selection = Selection { fields: FieldTest::read_all(selector).unwrap(), ..Selection::default() };
            let got = services.map(|spec| selection.matches(&ObjectName::new("n", "a"), &of(spec)));
            assert_eq!(got, want, "{selector}");
        }
    }

    #[test]
    fn a_field_selector_has_few_different_conditions() {
        let different = |count: usize| (0..count).map(|i| format!("metadata.name!={i}")).collect::<Vec<_>>().join(",");
        let refused = Err("a selector has at most 32 different conditions".to_owned());
        for (text, want) in
            [(different(32), Ok(32)), (different(33), refused), ("metadata.name=a,".repeat(5000), Ok(1))]
        {
            assert_eq!(FieldTest::read_all(&text).map(|tests| tests.len()), want, "{text:.40}");
        }
    }

    #[test]
    fn fields_of_other_resources_are_refused() {
        let fields = |text| Selection { fields: FieldTest::read_all(text).unwrap(), ..Selection::default() };
        let not_supported = Err("field label not supported: spec.type".to_owned());
        for (selector, resource, want) in [
            ("spec.type=NodePort", Resource::Service, Ok(())),
            ("spec.type=NodePort", Resource::EndpointSlice, not_supported),
            ("metadata.name=a", Resource::EndpointSlice, Ok(())),
        ] {
            assert_eq!(fields(selector).check_fields(resource), want, "{selector} {resource:?}");
        }
    }
}
