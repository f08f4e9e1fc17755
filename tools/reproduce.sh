#!/usr/bin/env bash
# Builds the jar of the last commit twice, in clones of their own, and fails unless both have the same bytes.
#   tools/reproduce.sh [LINE]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in one another; do
  git clone -q "file://$root" "$work/$name"
  # Neither is downloaded a second time.
  mkdir "$work/$name/.cache"
  find "$root/.cache" -maxdepth 1 -name 'sbt-launch-*.jar' -exec cp {} "$work/$name/.cache/" \;
  (cd "$work/$name" && python3 tools/jar.py "${1:-current}" >build.log 2>&1) || { cat "$work/$name/build.log"; exit 1; }
done
(cd "$work/one/python/springbok/jars" && sha256sum ./*.jar) | (cd "$work/another/python/springbok/jars" && sha256sum --check --strict)
