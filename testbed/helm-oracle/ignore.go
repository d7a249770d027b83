package oracle

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/ignore"
)

// info is a file or directory that is nowhere.
type info struct {
	name      string
	directory bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return 0 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.directory }
func (i info) Sys() any           { return nil }

func (i info) Mode() os.FileMode {
	if i.directory {
		return os.ModeDir | 0o755
	}
	return 0o644
}

// ignored tells which of the lines of the part "paths" the part "rules" leaves out of a chart, as the loader asks: from
// the top, and not into a directory that is left out.
func ignored(question Question) ([]byte, error) {
	rules, err := ignore.Parse(bytes.NewReader(question.part("rules")))
	if err != nil {
		return nil, err
	}
	rules.AddDefaults()
	var out bytes.Buffer
	for path := range strings.Lines(string(question.part("paths"))) {
		path = strings.TrimSuffix(path, "\n")
		fmt.Fprintf(&out, "%s %v\n", path, leftOut(rules, path))
	}
	return out.Bytes(), nil
}

func leftOut(rules *ignore.Rules, path string) bool {
	elements := strings.Split(path, "/")
	for end := range elements {
		so := strings.Join(elements[:end+1], "/")
		if rules.Ignore(so, info{elements[end], end+1 < len(elements)}) {
			return true
		}
	}
	return false
}
