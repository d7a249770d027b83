//! What a plugin file says about itself, read without running it: is it a component, which manifest does it carry,
//! which interfaces does it need and give.

use sha2::{Digest as _, Sha256};
use wasmparser::{Encoding, Parser, Payload};

use super::bindings::{INTERFACE, PACKAGE};
use super::manifest::{Manifest, ManifestError, compatible};

/// Name of the custom section that carries the manifest.
pub const MANIFEST_SECTION: &str = "pilothouse:manifest";
/// The largest plugin file that is read.
pub const MAX_BYTES: usize = 128 * 1024 * 1024;

/// Why a file is no plugin of this host.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// Too large to be read.
    #[error("{0} bytes are more than the {MAX_BYTES} a plugin may have")]
    TooLarge(usize),
    /// No WebAssembly at all.
    #[error("not a WebAssembly file (it does not begin with `\\0asm`)")]
    NotWasm,
    /// A core module.
    #[error(
        "a core WebAssembly module, not a component; build for wasm32-wasip2, or wrap it with `pilothouse plugin build`"
    )]
    CoreModule,
    /// Damaged or cut off.
    #[error("damaged WebAssembly at byte {offset}: {message}")]
    Damaged {
        /// Where reading stopped.
        offset: u64,
        /// What the reader said.
        message: String,
    },
    /// No manifest inside.
    #[error(
        "it carries no manifest (custom section `{MANIFEST_SECTION}`); add one with `pilothouse plugin build`"
    )]
    NoManifest,
    /// A manifest that is refused.
    #[error("its manifest is refused: {0}")]
    Manifest(#[from] ManifestError),
    /// The component's own imports or exports are of another version.
    #[error("it uses {found}; this host speaks {INTERFACE}")]
    Interface {
        /// The first foreign name.
        found: String,
    },
    /// The reconciler is missing.
    #[error("it declares kinds but exports no `{PACKAGE}/reconciler`")]
    NoReconciler,
    /// The hooks are missing.
    #[error("it asks for hooks (`rights.hooks`) but exports no `{PACKAGE}/lifecycle-hook`")]
    NoLifecycleHook,
}

impl PackageError {
    /// A bounded word for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "TooLarge",
            Self::NotWasm => "NotWasm",
            Self::CoreModule => "CoreModule",
            Self::Damaged { .. } => "Damaged",
            Self::NoManifest | Self::Manifest(_) => "ManifestInvalid",
            Self::Interface { .. } => "InterfaceMismatch",
            Self::NoReconciler | Self::NoLifecycleHook => "ExportMissing",
        }
    }
}

/// A plugin file that describes itself well.
#[derive(Clone, Debug)]
pub struct Package {
    /// The component, manifest included.
    pub bytes: Vec<u8>,
    /// sha256 of the bytes, lower-case hex.
    pub digest: String,
    /// The manifest inside.
    pub manifest: Manifest,
}

impl Package {
    /// Reads a file's description. Runs nothing, trusts nothing.
    ///
    /// # Errors
    /// Says which rule the file breaks.
    pub fn read(bytes: Vec<u8>) -> Result<Self, PackageError> {
        let sections = scan(&bytes)?;
        let manifest = Manifest::parse(&sections.manifest.ok_or(PackageError::NoManifest)?)?;
        if let Some(found) = sections.foreign {
            return Err(PackageError::Interface { found });
        }
        if !sections.reconciler {
            return Err(PackageError::NoReconciler);
        }
        if !manifest.rights.hooks.is_empty() && !sections.lifecycle_hook {
            return Err(PackageError::NoLifecycleHook);
        }
        Ok(Self { digest: digest(&bytes), bytes, manifest })
    }
}

/// sha256 in lower-case hex.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts a manifest into a component, replacing one that is there.
///
/// # Errors
/// When the bytes are no component or the manifest is refused.
pub fn embed(component: &[u8], manifest: &Manifest) -> Result<Vec<u8>, PackageError> {
    let sections = scan(component)?;
    let json = serde_json::to_string(manifest).map_err(|e| ManifestError::Syntax(e.to_string()))?;
    let mut out = Vec::with_capacity(component.len() + json.len() + 64);
    match sections.manifest_range {
        Some(range) => {
            let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            out.extend_from_slice(component.get(..index(range.start)).unwrap_or_default());
            out.extend_from_slice(component.get(index(range.end)..).unwrap_or_default());
        }
        None => out.extend_from_slice(component),
    }
    append_custom_section(&mut out, MANIFEST_SECTION, json.as_bytes());
    Ok(out)
}

/// id 0, size, name with its length, data; sizes in LEB128 (WebAssembly core specification §5.5.3).
fn append_custom_section(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    let mut body = Vec::with_capacity(name.len() + data.len() + 5);
    leb128(&mut body, name.len());
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(data);
    out.push(0);
    leb128(out, body.len());
    out.extend_from_slice(&body);
}

fn leb128(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// What a pass over the file's sections finds.
#[derive(Default)]
struct Sections {
    manifest: Option<String>,
    /// The whole manifest section, header included.
    manifest_range: Option<std::ops::Range<u64>>,
    /// The first import or export of our package in a version we do not speak.
    foreign: Option<String>,
    reconciler: bool,
    lifecycle_hook: bool,
}

fn scan(bytes: &[u8]) -> Result<Sections, PackageError> {
    if bytes.len() > MAX_BYTES {
        return Err(PackageError::TooLarge(bytes.len()));
    }
    if !bytes.starts_with(b"\0asm") {
        return Err(PackageError::NotWasm);
    }
    let damaged = |e: wasmparser::BinaryReaderError| PackageError::Damaged {
        offset: e.offset(),
        message: e.message().to_owned(),
    };
    let mut found = Sections::default();
    // Sections of nested modules and components come through the same iterator.
    let (mut depth, mut section_start, mut ended) = (0_usize, 8_u64, false);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(damaged)? {
            Payload::Version { encoding, .. } if depth == 0 && encoding == Encoding::Module => {
                return Err(PackageError::CoreModule);
            }
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => {
                depth = depth.saturating_sub(1);
                ended |= depth == 0;
            }
            Payload::CustomSection(section) if depth == 1 => {
                if section.name() == MANIFEST_SECTION {
                    let text = String::from_utf8_lossy(section.data()).into_owned();
                    found.manifest_range = Some(section_start..section.range().end);
                    found.manifest = Some(text);
                }
                section_start = section.range().end;
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                section_start = section.range().end;
                for import in section {
                    found.note(import.map_err(damaged)?.name.name, false);
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                section_start = section.range().end;
                for export in section {
                    found.note(export.map_err(damaged)?.name.name, true);
                }
            }
            other => {
                if let (1, Some((_, range))) = (depth, other.as_section()) {
                    section_start = range.end;
                }
            }
        }
    }
    if ended { Ok(found) } else { Err(cut_off(bytes.len())) }
}

fn cut_off(length: usize) -> PackageError {
    PackageError::Damaged {
        offset: u64::try_from(length).unwrap_or(u64::MAX),
        message: "unexpected end of file".to_owned(),
    }
}

impl Sections {
    /// Looks at one import or export name such as `pilothouse:operator/kube@0.1.0`.
    fn note(&mut self, name: &str, export: bool) {
        let Some(rest) = name.strip_prefix(PACKAGE).and_then(|rest| rest.strip_prefix('/')) else { return };
        let (interface, version) = rest.split_once('@').unwrap_or((rest, ""));
        let ours = INTERFACE.split_once('@').map_or("", |(_, version)| version);
        if !compatible(version, ours) && self.foreign.is_none() {
            self.foreign = Some(name.to_owned());
        }
        self.reconciler |= export && interface == "reconciler";
        self.lifecycle_hook |= export && interface == "lifecycle-hook";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "{name: a, version: 1.0.0, interface: 'pilothouse:operator@0.1.0', bindable: true}";
    const EMPTY_COMPONENT: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];

    #[test]
    fn text_is_not_wasm_and_a_core_module_is_told_apart() {
        assert!(matches!(Package::read(b"hello".to_vec()), Err(PackageError::NotWasm)));
        assert!(matches!(Package::read(b"\0asm\x01\0\0\0".to_vec()), Err(PackageError::CoreModule)));
    }

    #[test]
    fn a_component_without_a_manifest_is_told_how_to_get_one() {
        let error = Package::read(EMPTY_COMPONENT.to_vec()).unwrap_err();
        assert!(error.to_string().contains("plugin build"), "{error}");
    }

    #[test]
    fn an_embedded_manifest_replaces_the_one_before() {
        let manifest = Manifest::parse(MANIFEST).unwrap();
        let once = embed(&EMPTY_COMPONENT, &manifest).unwrap();
        let twice = embed(&once, &Manifest { version: "2.0.0".to_owned(), ..manifest.clone() }).unwrap();
        assert_eq!(once.len(), twice.len());
        assert_eq!(Manifest::parse(&scan(&twice).unwrap().manifest.unwrap()).unwrap().version, "2.0.0");
    }

    #[test]
    fn every_truncation_of_a_component_is_damaged_and_none_panics() {
        let whole = embed(&EMPTY_COMPONENT, &Manifest::parse(MANIFEST).unwrap()).unwrap();
        for length in 9..whole.len() {
            let error = Package::read(whole[..length].to_vec()).unwrap_err();
            assert_eq!(error.reason(), "Damaged", "cut at {length}: {error}");
        }
    }

    #[test]
    fn a_component_without_a_reconciler_is_refused() {
        let whole = embed(&EMPTY_COMPONENT, &Manifest::parse(MANIFEST).unwrap()).unwrap();
        assert!(matches!(Package::read(whole), Err(PackageError::NoReconciler)));
    }

    #[test]
    fn imports_of_another_interface_version_are_seen_on_the_component_itself() {
        let mut sections = Sections::default();
        sections.note("pilothouse:operator/kube@0.1.0", false);
        assert_eq!(sections.foreign, None);
        sections.note("pilothouse:operator/kube@0.3.0", false);
        assert_eq!(sections.foreign.as_deref(), Some("pilothouse:operator/kube@0.3.0"));
    }
}
