#!/usr/bin/env bash
# The gateway's operator API with curl: what came, and a post of an agent's own.
#
#   OPERATOR_TOKEN=... ./operator.sh messages
#   OPERATOR_TOKEN=... ./operator.sh post desk "Closed today."
#
# GATEWAY_URL is where the gateway listens. It needs bash, curl and jq.
set -euo pipefail

url=${GATEWAY_URL:-http://127.0.0.1:8787}

# The token goes by standard input: a command line is there for everybody to read.
call() { # path, more arguments of curl
  local answer status=0
  answer=$(curl --silent --show-error --fail-with-body --max-time 20 --config - "${@:2}" "$url/operator/api/$1" \
    <<<"header = \"Authorization: Bearer $OPERATOR_TOKEN\"") || status=$?
  ((status == 0)) || { printf '%s\n' "$answer" >&2; exit "$status"; }
  printf '%s\n' "$answer"
}

case ${1-} in
  messages)
    messages=$(call messages)
    jq -r '.items[] | [.state, .via, .sender, .agent] | @tsv' <<<"$messages"
    ;;
  post)
    acts=$(jq -nc --arg text "$3" '{ acts: [{ act: "post", parts: [{ kind: "text", mime: "text/markdown", content: $text }] }] }')
    done=$(call "agents/$2/acts" --header 'content-type: application/json' --data-raw "$acts")
    jq -r '.done[].id' <<<"$done"
    ;;
  *)
    echo "usage: $0 messages | post <agent> <text>" >&2
    exit 2
    ;;
esac
