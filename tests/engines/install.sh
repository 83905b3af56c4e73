#!/bin/sh
# What the engines need beside Python: Debian's packages where they can be installed, else their names.
set -eu
missing=""
java -version >/dev/null 2>&1 || missing="openjdk-17-jre-headless"
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$missing postgresql"
if [ -z "$missing" ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
else
    echo "make test-engines needs: $missing" >&2
    exit 1
fi
