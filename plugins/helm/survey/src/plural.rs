//! Plurals of English words, as kubebuilder and operator-sdk form them (the rules of the Go library flect).
//!
//! A CRD's plural is part of its name, so one that differs from what operator-sdk made of the same kind would be another
//! resource. That is why oddities (`octupuses`, and `dula` giving `bulae`) are kept.

/// A word with a plural of its own, and another plural that is known as such.
struct Word {
    singular: &'static str,
    plural: &'static str,
    alternative: &'static str,
    /// Words that end in this one do not follow it.
    exact: bool,
    /// The plural is not taken for one.
    one_way: bool,
}

const fn word(singular: &'static str, plural: &'static str) -> Word {
    Word { singular, plural, alternative: "", exact: false, one_way: false }
}

impl Word {
    const fn or(self, alternative: &'static str) -> Self {
        Self { alternative, ..self }
    }

    const fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    const fn one_way(self) -> Self {
        Self { one_way: true, ..self }
    }

    fn is_plural(&self, text: &str) -> bool {
        !self.one_way && (self.plural == text || self.alternative == text)
    }
}

/// The plural of a word in lower case.
#[must_use]
pub fn plural(word: &str) -> String {
    if let Some(known) = WORDS.iter().find(|known| known.singular == word) {
        return known.plural.to_owned();
    }
    if word.is_empty() || WORDS.iter().any(|known| known.is_plural(word)) {
        return word.to_owned();
    }
    // The word added last is looked at first.
    let words = WORDS.iter().rev().filter(|word| !word.exact).map(|word| (word.singular, word.plural));
    for (singular, plural) in words.chain(SUFFIXES.iter().copied()) {
        if word.ends_with(plural) {
            return word.to_owned();
        }
        if let Some(stem) = word.strip_suffix(singular) {
            return format!("{stem}{plural}");
        }
    }
    if word.ends_with('s') { word.to_owned() } else { format!("{word}s") }
}

const WORDS: &[Word] = &[
    word("aircraft", "aircraft"),
    word("beef", "beef").or("beefs"),
    word("bison", "bison"),
    word("blues", "blues").one_way(),
    word("chassis", "chassis"),
    word("deer", "deer"),
    word("fish", "fish").or("fishes"),
    word("moose", "moose"),
    word("police", "police"),
    word("salmon", "salmon").or("salmons"),
    word("series", "series"),
    word("sheep", "sheep"),
    word("shrimp", "shrimp").or("shrimps"),
    word("species", "species"),
    word("swine", "swine").or("swines"),
    word("trout", "trout").or("trouts"),
    word("tuna", "tuna").or("tunas"),
    word("you", "you"),
    word("child", "children"),
    word("ox", "oxen").exact(),
    word("foot", "feet"),
    word("goose", "geese"),
    word("man", "men"),
    word("human", "humans"),
    word("louse", "lice").exact(),
    word("mouse", "mice"),
    word("tooth", "teeth"),
    word("woman", "women"),
    word("die", "dice").exact(),
    word("person", "people"),
    word("adieu", "adieux").or("adieus"),
    word("fabliau", "fabliaux"),
    word("bureau", "bureaus").or("bureaux"),
    word("criterion", "criteria"),
    word("ganglion", "ganglia").or("ganglions"),
    word("lexicon", "lexica").or("lexicons"),
    word("mitochondrion", "mitochondria").or("mitochondrions"),
    word("noumenon", "noumena"),
    word("phenomenon", "phenomena"),
    word("taxon", "taxa"),
    word("media", "media"),
    word("medium", "media").or("mediums").one_way(),
    word("stadium", "stadiums").or("stadia"),
    word("aquarium", "aquaria").or("aquariums"),
    word("auditorium", "auditoria").or("auditoriums"),
    word("symposium", "symposia").or("symposiums"),
    word("curriculum", "curriculums").or("curricula"),
    word("quota", "quotas"),
    word("alumnus", "alumni").or("alumnuses"),
    word("bacillus", "bacilli"),
    word("cactus", "cacti").or("cactuses"),
    word("coccus", "cocci"),
    word("focus", "foci").or("focuses"),
    word("locus", "loci").or("locuses"),
    word("nucleus", "nuclei").or("nucleuses"),
    word("octopus", "octupuses").or("octopi"),
    word("radius", "radii").or("radiuses"),
    word("syllabus", "syllabi"),
    word("corpus", "corpora").or("corpuses"),
    word("genus", "genera"),
    word("alumna", "alumnae"),
    word("vertebra", "vertebrae"),
    word("differentia", "differentiae"),
    word("minutia", "minutiae"),
    word("vita", "vitae"),
    word("larva", "larvae"),
    word("postcava", "postcavae"),
    word("praecava", "praecavae"),
    word("uva", "uvae"),
    word("apex", "apices").or("apexes"),
    word("codex", "codices").or("codexes"),
    word("index", "indices").or("indexes"),
    word("latex", "latices").or("latexes"),
    word("vertex", "vertices").or("vertexes"),
    word("vortex", "vortices").or("vortexes"),
    word("appendix", "appendices").or("appendixes"),
    word("radix", "radices").or("radixes"),
    word("helix", "helices").or("helixes"),
    word("axis", "axes").exact(),
    word("crisis", "crises"),
    word("ellipsis", "ellipses").one_way(),
    word("genesis", "geneses"),
    word("oasis", "oases"),
    word("thesis", "theses"),
    word("testis", "testes"),
    word("base", "bases"),
    word("basis", "bases").one_way(),
    word("alias", "aliases").exact(),
    word("vedalia", "vedalias"),
    word("use", "uses").exact(),
    word("abuse", "abuses"),
    word("cause", "causes"),
    word("clause", "clauses"),
    word("cruse", "cruses"),
    word("excuse", "excuses"),
    word("fuse", "fuses"),
    word("house", "houses"),
    word("misuse", "misuses"),
    word("muse", "muses"),
    word("pause", "pauses"),
    word("ache", "aches"),
    word("topaz", "topazes"),
    word("buffalo", "buffaloes").or("buffalos"),
    word("potato", "potatoes"),
    word("tomato", "tomatoes"),
    word("equipment", "equipment"),
    word("information", "information"),
    word("jeans", "jeans"),
    word("money", "money"),
    word("news", "news"),
    word("rice", "rice"),
    word("dwarf", "dwarfs").or("dwarves"),
    word("hoof", "hoofs").or("hooves"),
    word("thief", "thieves"),
    word("chive", "chives"),
    word("hive", "hives"),
    word("move", "moves"),
    word("movie", "movies"),
    word("cookie", "cookies"),
    word("pretorium", "pretoriums"),
    word("agenda", "agendas"),
    word("formula", "formulas").or("formulae"),
    word("shoe", "shoes"),
    word("toe", "toes").exact(),
    word("graffiti", "graffiti"),
];

/// Endings, the first that fits counts.
const SUFFIXES: &[(&str, &str)] = &[
    ("tive", "tives"),
    ("eaf", "eaves"),
    ("oaf", "oaves"),
    ("afe", "aves"),
    ("arf", "arves"),
    ("rfe", "rves"),
    ("rf", "rves"),
    ("lf", "lves"),
    ("fe", "ves"),
    ("ay", "ays"),
    ("ey", "eys"),
    ("oy", "oys"),
    ("quy", "quies"),
    ("uy", "uys"),
    ("y", "ies"),
    ("eau", "eaux"),
    ("bula", "bulae"),
    ("dula", "bulae"),
    ("lula", "bulae"),
    ("nula", "bulae"),
    ("vula", "bulae"),
    ("hedron", "hedra"),
    ("ium", "ia"),
    ("seum", "seums"),
    ("eum", "ea"),
    ("oum", "oa"),
    ("stracum", "straca"),
    ("dum", "da"),
    ("elum", "ela"),
    ("ilum", "ila"),
    ("olum", "ola"),
    ("ulum", "ula"),
    ("llum", "lla"),
    ("ylum", "yla"),
    ("imum", "ima"),
    ("ernum", "erna"),
    ("gnum", "gna"),
    ("brum", "bra"),
    ("crum", "cra"),
    ("terum", "tera"),
    ("serum", "sera"),
    ("trum", "tra"),
    ("antum", "anta"),
    ("atum", "ata"),
    ("entum", "enta"),
    ("etum", "eta"),
    ("itum", "ita"),
    ("otum", "ota"),
    ("utum", "uta"),
    ("ctum", "cta"),
    ("ovum", "ova"),
    ("trix", "trices"),
    ("iasis", "iases"),
    ("mesis", "meses"),
    ("kinesis", "kineses"),
    ("resis", "reses"),
    ("gnosis", "gnoses"),
    ("opsis", "opses"),
    ("ysis", "yses"),
    ("ouse", "ouses"),
    ("lause", "lauses"),
    ("us", "uses"),
    ("ch", "ches"),
    ("io", "ios"),
    ("sh", "shes"),
    ("ss", "sses"),
    ("ez", "ezzes"),
    ("iz", "izzes"),
    ("tz", "tzes"),
    ("zz", "zzes"),
    ("ano", "anos"),
    ("lo", "los"),
    ("to", "tos"),
    ("oo", "oos"),
    ("o", "oes"),
    ("x", "xes"),
];

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn kinds_get_the_plurals_that_kubebuilder_gives_them() {
        for (kind, want) in [
            ("playerstats", "playerstats"),
            ("nginx", "nginxes"),
            ("redis", "redis"),
            ("gateway", "gateways"),
            ("policy", "policies"),
            ("ingress", "ingresses"),
            ("memcached", "memcacheds"),
            ("mysql", "mysqls"),
            ("postgresql", "postgresqls"),
            ("kafka", "kafkas"),
            ("elasticsearch", "elasticsearches"),
            ("box", "boxes"),
            ("bus", "buses"),
            ("class", "classes"),
            ("index", "indices"),
            ("matrix", "matrices"),
            ("vertex", "vertices"),
            ("datum", "data"),
            ("octopus", "octupuses"),
            ("chassis", "chassis"),
            ("status", "statuses"),
            ("series", "series"),
            ("proxy", "proxies"),
            ("replicaset", "replicasets"),
            ("networkpolicy", "networkpolicies"),
            ("endpoints", "endpoints"),
            ("database", "databases"),
            ("cache", "caches"),
            ("appservice", "appservices"),
            ("wordpress", "wordpresses"),
            ("zoo", "zoos"),
            ("echo", "echoes"),
            ("hero", "heroes"),
            ("criteria", "criteria"),
            ("analysis", "analyses"),
            ("helm", "helms"),
            ("wolf", "wolves"),
            ("knife", "knives"),
            ("leaf", "leaves"),
            ("person", "people"),
            ("child", "children"),
            ("mouse", "mice"),
            ("media", "media"),
            ("medium", "media"),
            ("alias", "aliases"),
            ("quota", "quotas"),
            ("radius", "radii"),
            ("topaz", "topazes"),
            ("quiz", "quizzes"),
            ("key", "keys"),
            ("monkey", "monkeys"),
            ("bureau", "bureaus"),
            ("house", "houses"),
            ("use", "uses"),
            ("reuse", "reuses"),
            ("postgres", "postgres"),
            ("clickhouse", "clickhouses"),
            ("chaosmesh", "chaosmeshes"),
            ("opensearch", "opensearches"),
            ("mongodb", "mongodbs"),
            ("prometheus", "prometheuses"),
            ("jaeger", "jaegers"),
        ] {
            assert_eq!(plural(kind), want);
        }
    }
}
