//! Small bbolt databases, as etcd's snapshots are.

const PAGE: usize = 4096;

/// How a bucket is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not everybody who includes this file needs all of them")]
pub(crate) enum Layout {
    /// In its parent.
    Inline,
    /// On a page of its own.
    Page,
    /// On two pages below a third.
    Branch,
}

/// A database with these versions in it.
pub(crate) fn database(cluster: Option<&str>, storage: Option<&str>, layout: Layout) -> Vec<u8> {
    let mut pages = Pages(vec![vec![0; PAGE]; 3]);
    let entries = |key: &'static str, value: Option<&str>| {
        let value = value.map(|value| (0, key.as_bytes().to_vec(), value.as_bytes().to_vec()));
        std::iter::once((0, b"consistent_index".to_vec(), vec![0; 8])).chain(value).collect::<Vec<_>>()
    };
    let mut cluster = entries("clusterVersion", cluster);
    cluster.sort();
    let buckets = [
        (1, b"cluster".to_vec(), pages.bucket(&cluster, layout)),
        (1, b"key".to_vec(), pages.bucket(&[], Layout::Inline)),
        (1, b"meta".to_vec(), pages.bucket(&entries("storageVersion", storage), Layout::Inline)),
    ];
    let root = leaf(&buckets);
    pages.0[2][..root.len()].copy_from_slice(&root);
    let mut meta = Vec::new();
    meta.extend(0xed0c_daed_u32.to_le_bytes());
    meta.extend(2_u32.to_le_bytes());
    meta.extend(u32::try_from(PAGE).unwrap().to_le_bytes());
    meta.extend([0; 4]);
    [2, 0, 1, u64::try_from(pages.0.len()).unwrap(), 7]
        .iter()
        .for_each(|number: &u64| meta.extend(number.to_le_bytes()));
    let hash = meta.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    meta.extend(hash.to_le_bytes());
    for number in [0, 1] {
        pages.0[number][16..16 + meta.len()].copy_from_slice(&meta);
    }
    pages.0.concat()
}

type Entry = (u32, Vec<u8>, Vec<u8>);

struct Pages(Vec<Vec<u8>>);

impl Pages {
    /// The value by which a bucket stands in its parent.
    fn bucket(&mut self, entries: &[Entry], layout: Layout) -> Vec<u8> {
        let root = match layout {
            Layout::Inline => 0,
            Layout::Page => self.add(leaf(entries)),
            Layout::Branch => {
                let children: Vec<(Vec<u8>, u64)> = entries
                    .iter()
                    .map(|entry| (entry.1.clone(), self.add(leaf(std::slice::from_ref(entry)))))
                    .collect();
                self.add(branch(&children))
            }
        };
        let mut value = root.to_le_bytes().to_vec();
        value.extend([0; 8]);
        if root == 0 {
            value.extend(leaf(entries));
        }
        value
    }

    fn add(&mut self, mut page: Vec<u8>) -> u64 {
        page.resize(PAGE, 0);
        self.0.push(page);
        u64::try_from(self.0.len() - 1).unwrap()
    }
}

fn number(value: usize) -> [u8; 4] {
    u32::try_from(value).unwrap().to_le_bytes()
}

fn head(flags: u16, count: usize) -> Vec<u8> {
    let mut page = vec![0; 8];
    page.extend(flags.to_le_bytes());
    page.extend(u16::try_from(count).unwrap().to_le_bytes());
    page.extend([0; 4]);
    page
}

fn leaf(entries: &[Entry]) -> Vec<u8> {
    let (mut page, mut data) = (head(2, entries.len()), Vec::<u8>::new());
    for (index, (flags, key, value)) in entries.iter().enumerate() {
        page.extend(flags.to_le_bytes());
        page.extend(number((entries.len() - index) * 16 + data.len()));
        page.extend(number(key.len()));
        page.extend(number(value.len()));
        data.extend(key.iter().chain(value));
    }
    page.extend(data);
    page
}

fn branch(children: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let (mut page, mut data) = (head(1, children.len()), Vec::<u8>::new());
    for (index, (key, id)) in children.iter().enumerate() {
        page.extend(number((children.len() - index) * 16 + data.len()));
        page.extend(number(key.len()));
        page.extend(id.to_le_bytes());
        data.extend(key);
    }
    page.extend(data);
    page
}
