//! What a Secret says about who one is for a store.

use std::collections::BTreeMap;
use std::fmt;

use super::BlobError;

/// Entries of a Secret, and its name for messages.
#[derive(Clone, Default)]
pub struct Login {
    /// `Secret namespace/name`.
    pub place: String,
    /// What is in it.
    pub entries: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Keys of S3.
pub(super) struct AwsKeys {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

impl Login {
    /// The first of these entries that is there, without a line end.
    pub(super) fn text(&self, keys: &[&str]) -> Result<Option<String>, BlobError> {
        let Some((key, bytes)) = keys.iter().find_map(|key| Some((key, self.entries.get(*key)?))) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(bytes)
            .map_err(|_| BlobError::Credentials(format!("{}: entry {key} is no text", self.place)))?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// The same where one of them has to be there.
    pub(super) fn needed(&self, keys: &[&str]) -> Result<String, BlobError> {
        let missing = || BlobError::Credentials(format!("{} has no entry {}", self.place, keys.join(" or ")));
        self.text(keys)?.filter(|text| !text.is_empty()).ok_or_else(missing)
    }

    /// The account of Azure, for a store that leaves it to the Secret.
    ///
    /// # Errors
    /// [`BlobError::Credentials`].
    pub fn account(&self) -> Result<String, BlobError> {
        self.needed(&["storage-account"])
    }

    /// Where accounts of Azure are: what follows their name. None: in the public cloud.
    pub(super) fn azure_cloud(&self) -> Result<Option<&'static str>, BlobError> {
        const CLOUDS: [(&str, &str); 3] = [
            ("AzurePublicCloud", "blob.core.windows.net"),
            ("AzureChinaCloud", "blob.core.chinacloudapi.cn"),
            ("AzureUSGovernmentCloud", "blob.core.usgovcloudapi.net"),
        ];
        let Some(cloud) = self.text(&["cloud"])?.filter(|cloud| !cloud.is_empty()) else { return Ok(None) };
        let known = CLOUDS.iter().find(|(name, _)| *name == cloud).map(|(_, host)| Some(*host));
        known.ok_or_else(|| {
            let names = CLOUDS.map(|(name, _)| name).join(", ");
            BlobError::Credentials(format!("{}: entry cloud is none of {names}", self.place))
        })
    }

    /// Keys of S3: entries of their own, or a file as AWS's tools have it.
    pub(super) fn aws(&self) -> Result<AwsKeys, BlobError> {
        if let Some(file) = self.text(&["credentials"])? {
            return self.aws_of_file(&file);
        }
        Ok(AwsKeys {
            id: self.needed(&["access-key-id", "AWS_ACCESS_KEY_ID"])?,
            secret: self.needed(&["secret-access-key", "AWS_SECRET_ACCESS_KEY"])?,
            token: self.text(&["session-token", "AWS_SESSION_TOKEN"])?,
        })
    }

    /// Keys of the profile that AWS's tools would take.
    fn aws_of_file(&self, file: &str) -> Result<AwsKeys, BlobError> {
        let (_, profile) = profile(file, None);
        let value = |key: &str| {
            let found = profile.get(key).filter(|value| !value.is_empty());
            found.cloned().ok_or_else(|| {
                BlobError::Credentials(format!("{}: entry credentials names no {key}", self.place))
            })
        };
        Ok(AwsKeys {
            id: value("aws_access_key_id")?,
            secret: value("aws_secret_access_key")?,
            token: value("aws_session_token").ok(),
        })
    }

    /// The region of a bucket, if it is said: an entry of its own, or in the files `config` and `credentials` of AWS's tools.
    pub(super) fn region(&self) -> Result<Option<String>, BlobError> {
        if let Some(region) = self.text(&["region", "AWS_REGION", "AWS_DEFAULT_REGION"])? {
            return Ok(Some(region).filter(|region| !region.is_empty()));
        }
        // That of the profile whose keys are taken, and no other's.
        let (name, of_keys) = profile(&self.text(&["credentials"])?.unwrap_or_default(), None);
        let (_, told) = profile(&self.text(&["config"])?.unwrap_or_default(), name.as_deref());
        let region = told.get("region").or(of_keys.get("region"));
        Ok(region.filter(|region| !region.is_empty()).cloned())
    }
}

/// A profile of a file of AWS's tools and its name: the one that is asked for, else `default`, else the first one.
fn profile(file: &str, wanted: Option<&str>) -> (Option<String>, BTreeMap<String, String>) {
    let mut profiles: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            // As `config` has it, all but the default one.
            let name = name.trim().trim_start_matches("profile ").trim();
            profiles.push((name.to_owned(), BTreeMap::new()));
        } else if let (Some((key, value)), Some((_, profile))) = (line.split_once('='), profiles.last_mut()) {
            profile.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let at = |name: &str| profiles.iter().position(|(other, _)| other == name);
    let chosen = match wanted {
        Some(name) => at(name),
        None => at("default").or((!profiles.is_empty()).then_some(0)),
    };
    chosen.map_or_else(Default::default, |chosen| {
        let (name, entries) = profiles.swap_remove(chosen);
        (Some(name), entries)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(entries: &[(&str, &str)]) -> Login {
        let entries =
            entries.iter().map(|(key, text)| ((*key).to_owned(), text.as_bytes().to_vec())).collect();
        Login { place: "Secret shop/aws".to_owned(), entries }
    }

    #[test]
    fn keys_are_entries_or_a_file_of_aws() {
        let keys = login(&[("access-key-id", "id\n"), ("secret-access-key", "hidden")]).aws().unwrap();
        assert_eq!((keys.id.as_str(), keys.secret.as_str(), keys.token), ("id", "hidden", None));
        let file = "# comment\n[other]\naws_access_key_id = no\n[default]\naws_access_key_id = id\naws_secret_access_key=hidden\n";
        let keys = login(&[("credentials", file)]).aws().unwrap();
        assert_eq!((keys.id.as_str(), keys.secret.as_str()), ("id", "hidden"));
    }

    #[test]
    fn a_region_is_an_entry_or_in_one_of_the_files_of_aws() {
        let config = "[profile other]\nregion = eu-west-1\n[default]\nregion=eu-central-1\n";
        let keys = "[default]\naws_access_key_id = id\nregion = ap-south-1";
        for (entries, region) in [
            (&[("region", "us-west-2\n"), ("config", config)][..], Some("us-west-2")),
            (&[("credentials", keys), ("config", config)], Some("eu-central-1")),
            (&[("credentials", keys), ("config", "")], Some("ap-south-1")),
            (&[("credentials", "[default]\noutput = json"), ("config", "no file at all")], None),
            (&[("credentials", "[mine]\naws_access_key_id = id"), ("config", config)], None),
            (
                &[
                    ("credentials", "[mine]\naws_access_key_id = id"),
                    ("config", "[profile mine]\nregion = sa-east-1"),
                ],
                Some("sa-east-1"),
            ),
        ] {
            assert_eq!(login(entries).region().unwrap().as_deref(), region);
        }
    }

    #[test]
    fn a_cloud_of_azure_is_known_by_name_and_is_the_public_one_by_default() {
        let host = |entries: &[(&str, &str)]| login(entries).azure_cloud();
        assert_eq!(host(&[]).unwrap(), None);
        assert_eq!(host(&[("cloud", "AzureChinaCloud\n")]).unwrap(), Some("blob.core.chinacloudapi.cn"));
        let error = host(&[("cloud", "hidden")]).unwrap_err().to_string();
        assert!(error.contains("AzurePublicCloud, AzureChinaCloud") && !error.contains("hidden"), "{error}");
        assert_eq!(login(&[("storage-account", "account7\n")]).account().unwrap(), "account7");
        assert!(login(&[]).account().unwrap_err().to_string().contains("no entry storage-account"));
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_of_it_told() {
        for (entries, said) in [
            (
                &[("access-key-id", "hidden")][..],
                "Secret shop/aws has no entry secret-access-key or AWS_SECRET_ACCESS_KEY",
            ),
            (&[("credentials", "[default]\naws_access_key_id = hidden")], "names no aws_secret_access_key"),
        ] {
            let error = login(entries).aws().err().unwrap().to_string();
            assert!(error.contains(said) && !error.contains("hidden"), "{error}");
        }
        assert!(!format!("{:?}", login(&[("a", "hidden")])).contains("hidden"));
    }
}
