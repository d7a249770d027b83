// Loads and renders charts again and again with Helm's SDK, in one process, as an operator built on it does.
//
// Usage: render TIMES CHART… It prints a line for each chart: nanoseconds of the least and the median run, and the
// bytes of the manifests.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"k8s.io/klog/v2"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("usage: render TIMES CHART…")
	}
	times, err := strconv.Atoi(arguments[0])
	if err != nil {
		return err
	}
	version, err := common.ParseKubeVersion("v1.37.0")
	if err != nil {
		return err
	}
	common.DefaultCapabilities.KubeVersion = *version
	for _, path := range arguments[1:] {
		if err := measure(path, times); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func measure(path string, times int) error {
	var took []time.Duration
	size := 0
	// The first run warms caches.
	for run := range times + 1 {
		started := time.Now()
		bytes, err := render(path)
		if err != nil {
			return err
		}
		if run > 0 {
			took = append(took, time.Since(started))
		}
		size = bytes
	}
	slices.Sort(took)
	fmt.Println(took[0].Nanoseconds(), took[len(took)/2].Nanoseconds(), size)
	return nil
}

func render(path string) (int, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return 0, err
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.DryRunStrategy = action.DryRunClient
	install.Replace = true
	install.ReleaseName, install.Namespace = "rel", "default"
	done, err := install.Run(chart, map[string]any{})
	if err != nil {
		return 0, err
	}
	rel, ok := done.(*release.Release)
	if !ok {
		return 0, fmt.Errorf("a release of type %T", done)
	}
	return len(rel.Manifest), nil
}
