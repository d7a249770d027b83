package yaml

import (
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// mark is the annotation that Helm gives to what a post-renderer shall see.
const mark = "postrenderer.helm.sh/postrender-filename"

// marked is a file on its way to a post-renderer.
func marked(in []byte) ([]byte, error) {
	objects, err := kio.ParseAll(string(in))
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if err := object.PipeE(kyaml.SetAnnotation(mark, "chart/templates/file.yaml")); err != nil {
			return nil, err
		}
	}
	text, err := kio.StringAll(objects)
	return []byte(text), err
}

// unmarked is what comes back from a post-renderer.
func unmarked(in []byte) ([]byte, error) {
	objects, err := kio.ParseAll(string(in))
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if _, err := object.GetMeta(); err != nil {
			return nil, err
		}
		if err := object.PipeE(kyaml.ClearAnnotation(mark)); err != nil {
			return nil, err
		}
	}
	text, err := kio.StringAll(objects)
	return []byte(text), err
}
