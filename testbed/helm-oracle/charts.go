package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/klog/v2"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	detect "helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/strvals"
	"pilothouse.dev/testbed/helm-oracle/yaml"
)

// likeHelm makes a program that is a test say what the binary of Helm 4.3.1 says, and keeps logs away.
func likeHelm() error {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	version, err := common.ParseKubeVersion("v1.37.0")
	if err != nil {
		return err
	}
	common.DefaultCapabilities.KubeVersion = *version
	helm := &common.DefaultCapabilities.HelmVersion
	helm.Version, helm.KubeClientVersion = "v4.3.1", "v1.37"
	helm.GitCommit, helm.GitTreeState = "c0d08d0d6d9424d4a14febb5e8a3e51b0dd00dff", "clean"
	return nil
}

// renderTemplate renders the part "text" as the notes of a chart, with the values of the part "values" and the
// definitions of the part "helpers".
func renderTemplate(question Question) ([]byte, error) {
	const notes = "templates/NOTES.txt"
	c := &v2.Chart{Metadata: &v2.Metadata{APIVersion: "v2", Name: "top", Version: "1.0.0"}}
	c.Templates = []*common.File{{Name: notes, Data: question.part("text")}}
	if helpers := question.part("helpers"); len(helpers) > 0 {
		c.Templates = append(c.Templates, &common.File{Name: "templates/_helpers.tpl", Data: helpers})
	}
	values, err := loader.LoadValues(bytes.NewReader(question.part("values")))
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "rel", Namespace: "demo", Revision: 1, IsInstall: true}
	toRender, err := util.ToRenderValues(c, values, release, common.DefaultCapabilities.Copy())
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{}.Render(c, toRender)
	if err != nil {
		return nil, err
	}
	return []byte(rendered["top/"+notes]), nil
}

// renderChart installs the chart of the parts "file:PATH" without a cluster, with the values of the part "values".
func renderChart(question Question) ([]byte, error) {
	c, err := loadChart(question)
	if err != nil {
		return nil, err
	}
	values, err := loader.LoadValues(bytes.NewReader(question.part("values")))
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.DryRunStrategy = action.DryRunClient
	install.Replace = true
	install.ReleaseName, install.Namespace = "rel", "demo"
	done, err := install.Run(c, values)
	if err != nil {
		return nil, err
	}
	rel, ok := done.(*release.Release)
	if !ok {
		return nil, fmt.Errorf("a release of type %T", done)
	}
	var out bytes.Buffer
	out.WriteString(rel.Manifest)
	for _, hook := range rel.Hooks {
		fmt.Fprintf(&out, "---\n# Hook: %s %s %d %v\n%s\n", hook.Path, hook.Name, hook.Weight, hook.Events, hook.Manifest)
	}
	fmt.Fprintf(&out, "NOTES:\n%s", rel.Info.Notes)
	return out.Bytes(), nil
}

// loadChart loads the chart of the parts "file:PATH" from a directory, as the command line does. Errors name files by
// their paths in the chart.
func loadChart(question Question) (chart.Charter, error) {
	directory, err := os.MkdirTemp("", "helm-oracle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	for _, part := range question.Parts {
		path, ok := strings.CutPrefix(part.Name, "file:")
		if !ok {
			continue
		}
		path = filepath.Join(directory, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, part.Data, 0o644); err != nil {
			return nil, err
		}
	}
	c, err := detect.LoadDir(directory)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), directory+string(filepath.Separator), ""))
	}
	return c, nil
}

// mergedValues are the values of several files.
func mergedValues(question Question) Answer {
	merged := map[string]any{}
	for _, part := range question.Parts {
		values, err := loader.LoadValues(bytes.NewReader(part.Data))
		if err != nil {
			return outcome(nil, err)
		}
		merged = loader.MergeMaps(merged, values)
	}
	return spelled(nil, yaml.Tree(merged), "")
}

// setValues sets the part "line" in the part "values".
func setValues(question Question) Answer {
	values, err := loader.LoadValues(bytes.NewReader(question.part("values")))
	if err != nil {
		return outcome(nil, err)
	}
	line := string(question.part("line"))
	switch question.Op {
	case "set":
		err = strvals.ParseInto(line, values)
	case "set-string":
		err = strvals.ParseIntoString(line, values)
	case "set-json":
		err = strvals.ParseJSON(line, values)
	case "set-literal":
		err = strvals.ParseLiteralInto(line, values)
	case "set-file":
		err = strvals.ParseIntoFile(line, values, func(name []rune) (any, error) {
			if strings.Contains(string(name), "missing") {
				return nil, fmt.Errorf("open %s: no such file or directory", string(name))
			}
			return "content of " + string(name), nil
		})
	}
	if err != nil {
		return spelled(nil, yaml.Tree(values), err.Error())
	}
	return spelled(nil, yaml.Tree(values), "")
}
