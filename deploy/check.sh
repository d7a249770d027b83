#!/usr/bin/env bash
# Checks the chart and the kustomize tree. Without a cluster: lint, rendering of every file of values, values that must be
# refused, chart and kustomize saying the same. With --server, the API server of KUBECONFIG also judges every object (dry run
# only, but for one namespace that is removed again), and its Pod Security admission the pods.
#
#   deploy/check.sh             HELM and KUBECTL name the programs, when they are not on the PATH
#   deploy/check.sh --server
set -euo pipefail
cd "$(dirname "$0")/.."
readonly HELM=${HELM:-helm} KUBECTL=${KUBECTL:-kubectl}
readonly CHART=charts/pilothouse OVERLAYS=deploy/kustomize
# The oldest version the chart allows: a helm that was built from its module believes in 1.20.
readonly OLDEST=1.27.0
namespace=pilothouse-check-$$
work=$(mktemp -d)
failures=0

case "${1:-}" in
  "" | --server) readonly SERVER=${1:-} ;;
  *) echo "usage: $0 [--server]" >&2; exit 2 ;;
esac

clean_up() {
  rm -rf "$work"
  if [ -n "$SERVER" ]; then
    "$KUBECTL" delete namespace "$namespace" --ignore-not-found --wait=false >/dev/null || true
  fi
}
trap clean_up EXIT

# check WHAT COMMAND…: runs it, tells how it went, and its words when it failed.
check() {
  local what=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    echo "ok      $what"
  else
    failures=$((failures + 1))
    echo "FAILED  $what"
    tail -n 40 "$work/out" | cut -c 1-400 | sed 's/^/        /'
  fi
}

lint_and_render() {
  "$HELM" lint --strict --kube-version "$OLDEST" "$CHART" --namespace "$namespace" -f "$1" &&
    "$HELM" template pilothouse "$CHART" --kube-version "$OLDEST" --namespace "$namespace" -f "$1" >"$2"
}

# Every file says in its first line what the refusal must say.
refused() {
  local words
  words=$(sed -n '1s/^# expect: //p' "$1")
  [ -n "$words" ] || { echo "the first line must be: # expect: WORDS"; return 1; }
  if "$HELM" template pilothouse "$CHART" --kube-version "$OLDEST" -f "$1" >/dev/null 2>"$work/refusal"; then
    echo "it was not refused"
    return 1
  fi
  grep -qF -- "$words" "$work/refusal" || { echo "refused in other words than: $words"; cat "$work/refusal"; return 1; }
}

kustomize_in_namespace() {
  "$KUBECTL" kustomize "$1" >"$2.own" && sed "s/pilothouse-system/$namespace/g" "$2.own" >"$2"
}

# Both through kustomize, so that order and form are the same. What names the tool is left out, and the Namespace, which a
# chart does not make.
normalised() {
  local directory=$1
  printf '%s\n' 'apiVersion: kustomize.config.k8s.io/v1beta1' 'kind: Kustomization' 'resources: [all.yaml]' \
    'patches: [{ target: { kind: Namespace }, patch: "{ $patch: delete, apiVersion: v1, kind: Namespace, metadata: { name: any } }" }]' \
    >"$directory/kustomization.yaml"
  "$KUBECTL" kustomize "$directory" | sed -E '/^ +(helm\.sh\/chart|app\.kubernetes\.io\/managed-by):/d'
}

same_story() {
  mkdir -p "$work/chart" "$work/base"
  "$HELM" template pilothouse "$CHART" --kube-version "$OLDEST" --namespace pilothouse-system >"$work/chart/all.yaml" &&
    "$KUBECTL" kustomize "$OVERLAYS/base" >"$work/base/all.yaml" &&
    normalised "$work/chart" >"$work/chart.txt" && normalised "$work/base" >"$work/base.txt" &&
    diff -u --label chart "$work/chart.txt" --label kustomize "$work/base.txt"
}

every_value_is_described() {
  local key missing=0
  for key in $(sed -nE 's/^([A-Za-z]+):.*/\1/p' "$CHART/values.yaml"); do
    grep -qE "^\| \`$key[\`.]" "$CHART/README.md" || { echo "$CHART/README.md does not describe $key"; missing=1; }
  done
  return $missing
}

accepted_by_server() {
  "$KUBECTL" apply --dry-run=server --validate=strict -f "$1"
}

# The pod of a Deployment, as its controller would make it, in a namespace that enforces the `restricted` profile.
pod_of() {
  "$KUBECTL" create --namespace "$namespace" --dry-run=client -f "$1" \
    -o jsonpath='{.kind}{"\t"}{.spec.template.spec}{"\n"}' |
    sed -nE 's/"serviceAccountName":"[^"]*"/"serviceAccountName":"default"/
      s/^Deployment\t(.*)$/{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"check-"},"spec":\1}/p'
}

admitted_as_restricted() {
  pod_of "$1" >"$work/pod.json"
  [ -s "$work/pod.json" ] || { echo "no Deployment in it"; return 1; }
  "$KUBECTL" create --namespace "$namespace" --dry-run=server -f "$work/pod.json"
}

# The same with one right too many: if this came through, the check above would mean nothing.
restricted_is_enforced() {
  pod_of "$1" | sed 's/"allowPrivilegeEscalation":false/"allowPrivilegeEscalation":true/' >"$work/pod.json"
  if "$KUBECTL" create --namespace "$namespace" --dry-run=server -f "$work/pod.json"; then
    return 1
  fi 2>"$work/refusal"
  grep -q 'violates PodSecurity "restricted' "$work/refusal" || { cat "$work/refusal"; return 1; }
}

without_monitor_unless_served() {
  case "$1" in *servicemonitor*) [ -n "$monitors" ] ;; esac
}

for values in "$CHART"/ci/*.yaml; do
  check "chart: $(basename "$values")" lint_and_render "$values" "$work/$(basename "$values")"
done
for values in "$CHART"/ci/refused/*.yaml; do
  check "chart refuses: $(basename "$values" .yaml)" refused "$values"
done
check "chart: README describes every value" every_value_is_described
for tree in "$OVERLAYS"/base "$OVERLAYS"/overlays/*; do
  check "kustomize: $(basename "$tree")" kustomize_in_namespace "$tree" "$work/kustomize-$(basename "$tree").yaml"
done
check "chart and kustomize say the same" same_story

if [ -n "$SERVER" ]; then
  "$KUBECTL" create namespace "$namespace" >/dev/null
  "$KUBECTL" label namespace "$namespace" pod-security.kubernetes.io/enforce=restricted >/dev/null
  "$KUBECTL" wait --namespace "$namespace" --for=create serviceaccount/default --timeout=60s >/dev/null
  monitors=$("$KUBECTL" get crd servicemonitors.monitoring.coreos.com --ignore-not-found -o name)
  for rendered in "$work"/*.yaml; do
    name=$(basename "$rendered")
    if ! without_monitor_unless_served "$name"; then
      echo "SKIPPED the server's word on $name: it has no ServiceMonitor CRD"
      continue
    fi
    check "the server accepts: $name" accepted_by_server "$rendered"
    check "a restricted namespace admits the pod: $name" admitted_as_restricted "$rendered"
  done
  check "a restricted namespace refuses a pod with more" restricted_is_enforced "$work/default-values.yaml"
fi

[ "$failures" -eq 0 ] || { echo "$failures checks failed"; exit 1; }
echo "all well"
