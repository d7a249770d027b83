//! `.Chart` as Helm 3 showed it: a struct of Go with the fields of `Chart.yaml`, and `IsRoot` beside them.

use crate::metadata::{Dependency, Maintainer, Metadata};
use helm_template::{List, Map, NamedType, Object, Type, Value};

const fn named(name: &'static str) -> NamedType {
    NamedType { name, underlying: Type::Struct, methods: &[] }
}

static CHART: Type = Type::Named(&named("struct { chart.Metadata; IsRoot bool }"));
static METADATA: Type = Type::Named(&named("chart.Metadata"));
static MAINTAINER: Type = Type::Named(&named("chart.Maintainer"));
static DEPENDENCY: Type = Type::Named(&named("chart.Dependency"));
static MAINTAINER_POINTER: Type = Type::Pointer(&MAINTAINER);
static DEPENDENCY_POINTER: Type = Type::Pointer(&DEPENDENCY);
static MAINTAINERS: Type = Type::Slice(&MAINTAINER_POINTER);
static DEPENDENCIES: Type = Type::Slice(&DEPENDENCY_POINTER);
static STRINGS: Type = Type::STRINGS;

/// A field by its name in Go, its name in JSON, and whether it is there when it is empty.
#[derive(Debug)]
struct Field(&'static str, &'static str, bool, Value);

/// A struct.
#[derive(Debug)]
struct Record {
    ty: Type,
    fields: Vec<Field>,
}

impl Object for Record {
    fn ty(&self) -> Type {
        self.ty
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.3.clone())
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        self.fields.iter().map(|field| (field.0, field.3.clone())).collect()
    }

    fn json_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        let kept = self.fields.iter().filter(|field| field.2 || field.3.truth());
        Some(kept.map(|field| (field.1, field.3.clone())).collect())
    }
}

/// The outer struct: what is embedded in it can be reached through it.
#[derive(Debug)]
struct Root {
    metadata: Value,
    is_root: bool,
}

impl Root {
    fn embedded(&self) -> Option<&Record> {
        self.metadata.as_object::<Record>()
    }
}

impl Object for Root {
    fn ty(&self) -> Type {
        CHART
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Metadata" => Some(self.metadata.clone()),
            "IsRoot" => Some(self.is_root.into()),
            other => self.embedded()?.field(other),
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![("Metadata", self.metadata.clone()), ("IsRoot", self.is_root.into())]
    }

    fn json_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        let mut fields = self.embedded()?.json_fields()?;
        fields.push(("IsRoot", self.is_root.into()));
        Some(fields)
    }
}

/// The struct for a chart.
pub(super) fn value(metadata: &Metadata, is_root: bool) -> Value {
    Value::object(Root { metadata: record(&METADATA, fields(metadata)), is_root })
}

fn record(ty: &'static Type, fields: Vec<Field>) -> Value {
    Value::object(Record { ty: *ty, fields })
}

fn text(name: &'static str, json: &'static str, text: &str) -> Field {
    Field(name, json, false, text.into())
}

fn fields(metadata: &Metadata) -> Vec<Field> {
    let Metadata { maintainers, annotations, dependencies, .. } = metadata;
    let maintainers = maintainers.iter().flatten().map(maintainer).collect();
    let dependencies = dependencies.as_ref().map(|all| all.iter().flatten().map(dependency).collect());
    let of_annotations = match annotations {
        None => Map::nil(&Type::STRING_MAP),
        Some(annotations) => {
            let map = Map::typed(&Type::STRING_MAP);
            map.extend_from(annotations);
            map
        }
    };
    vec![
        text("Name", "name", &metadata.name),
        text("Home", "home", &metadata.home),
        Field("Sources", "sources", false, strings(&metadata.sources)),
        text("Version", "version", &metadata.version),
        text("Description", "description", &metadata.description),
        Field("Keywords", "keywords", false, strings(&metadata.keywords)),
        Field("Maintainers", "maintainers", false, Value::List(List::typed(&MAINTAINERS, maintainers))),
        text("Icon", "icon", &metadata.icon),
        text("APIVersion", "apiVersion", &metadata.api_version),
        text("Condition", "condition", &metadata.condition),
        text("Tags", "tags", &metadata.tags),
        text("AppVersion", "appVersion", &metadata.app_version),
        Field("Deprecated", "deprecated", false, metadata.deprecated.into()),
        Field("Annotations", "annotations", false, Value::Map(of_annotations)),
        text("KubeVersion", "kubeVersion", &metadata.kube_version),
        Field("Dependencies", "dependencies", false, list(&DEPENDENCIES, dependencies)),
        text("Type", "type", &metadata.chart_type),
    ]
}

fn maintainer(maintainer: &Maintainer) -> Value {
    let fields = vec![
        text("Name", "name", &maintainer.name),
        text("Email", "email", &maintainer.email),
        text("URL", "url", &maintainer.url),
    ];
    record(&MAINTAINER_POINTER, fields)
}

fn dependency(dependency: &Dependency) -> Value {
    let imports = Value::List(List::new(dependency.import_values.clone()));
    let fields = vec![
        Field("Name", "name", true, (&dependency.name).into()),
        text("Version", "version", &dependency.version),
        Field("Repository", "repository", true, (&dependency.repository).into()),
        text("Condition", "condition", &dependency.condition),
        Field("Tags", "tags", false, strings(&dependency.tags)),
        Field("Enabled", "enabled", false, dependency.enabled.into()),
        Field("ImportValues", "import-values", false, imports),
        text("Alias", "alias", &dependency.alias),
    ];
    record(&DEPENDENCY_POINTER, fields)
}

fn strings(texts: &[String]) -> Value {
    list(&STRINGS, (!texts.is_empty()).then(|| texts.iter().map(Value::from).collect()))
}

fn list(ty: &'static Type, items: Option<Vec<Value>>) -> Value {
    Value::List(items.map_or_else(|| List::nil(ty), |items| List::typed(ty, items)))
}
