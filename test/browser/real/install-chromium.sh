#!/usr/bin/env bash
# `install-chromium.sh <folder>`: bin/chromium in that folder is Chromium, headless too: the one of this machine, or else Debian's, with what
# it needs that is not installed. Debian's is unpacked, not installed, which needs no rights.
set -euo pipefail

environment=$(realpath -m -- "$1")
mkdir -p "$environment/bin"
if [ -x "$environment/bin/chromium" ]; then exit 0; fi
if command -v chromium > /dev/null; then
  ln -s "$(command -v chromium)" "$environment/bin/chromium"
  exit 0
fi

mkdir -p "$environment/debian" "$environment/archives/partial"
# apt-get takes locks for a download that only root may.
packages=$(apt-get install --simulate --no-install-recommends chromium | awk '$1 == "Inst" { print $2 }') ||
  { apt-get update && packages=$(apt-get install --simulate --no-install-recommends chromium | awk '$1 == "Inst" { print $2 }'); }
cd "$environment/archives"
# shellcheck disable=SC2086 # one word each
apt-get download $packages || { apt-get update && apt-get download $packages; }
for package in *.deb; do dpkg-deb -x "$package" "$environment/debian"; done
cd - > /dev/null
rm -r "$environment/archives"
cat > "$environment/bin/chromium" << END
#!/bin/sh
for folder in "$environment"/debian/usr/lib/*-linux-gnu; do
  export LD_LIBRARY_PATH="\$folder:\$folder/pulseaudio\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
done
exec "$environment/debian/usr/lib/chromium/chromium" "\$@"
END
chmod +x "$environment/bin/chromium"
