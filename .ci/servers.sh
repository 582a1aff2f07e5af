#!/usr/bin/env bash
# Runs the tests of stores and of hedged reads against servers: nginx with WebDAV and s3s-fs, neither written here, and
# `hedgerow serve`.
#
#   bash .ci/servers.sh            installs what is missing, and runs them
#   bash .ci/servers.sh install    only installs
#
# Each test starts its own server on a free port over a temporary folder, and ends it. Nothing is left but the
# installed packages, and s3s-fs below the target folder. Debian or Ubuntu, as root or with sudo.
#
#   HEDGEROW_NGINX=             the nginx to take; by default Debian's
#   HEDGEROW_NGINX_MODULES=     the folder of its modules; by default Debian's
#   HEDGEROW_S3S=               the s3s-fs to take; by default version 0.14.1, built once
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

target_dir="${CARGO_TARGET_DIR:-$PWD/target}"

if [ -z "${HEDGEROW_NGINX:-}" ]; then
    if ! command -v nginx >/dev/null || [ ! -e /usr/lib/nginx/modules/ngx_http_dav_ext_module.so ]; then
        apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
        ((EUID == 0)) || apt=(sudo "${apt[@]}")
        "${apt[@]}" update
        "${apt[@]}" install -y --no-install-recommends nginx libnginx-mod-http-dav-ext
    fi
    HEDGEROW_NGINX="$(command -v nginx || echo /usr/sbin/nginx)"
fi

if [ -z "${HEDGEROW_S3S:-}" ]; then
    s3s="$target_dir/servers"
    if [ ! -x "$s3s/bin/s3s-fs" ]; then
        # In a target folder of its own, which goes once it is built: it shares nothing with ours.
        build="$(mktemp -d)"
        trap 'rm -rf "$build"' EXIT
        CARGO_TARGET_DIR="$build" CARGO_PROFILE_DEV_DEBUG=0 cargo install s3s-fs --version 0.14.1 --debug --locked --features binary --root "$s3s"
    fi
    HEDGEROW_S3S="$s3s/bin/s3s-fs"
fi

if [ "${1:-}" = install ]; then exit; fi

# Of the whole workspace, as `cargo test --workspace` has it, so that it is built once; with the tests comes the program.
tests=(cargo test --locked --workspace)
"${tests[@]}" --no-run --lib --test stores --test nginx
HEDGEROW_SERVE="$target_dir/debug/hedgerow"

export HEDGEROW_NGINX HEDGEROW_S3S HEDGEROW_SERVE
"${tests[@]}" --test stores -- nginx:: s3s:: serve::
"${tests[@]}" --lib -- nginx
"${tests[@]}" --test nginx
