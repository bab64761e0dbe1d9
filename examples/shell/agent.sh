#!/usr/bin/env bash
# A webhook agent in bash: one HTTP request on standard input, one answer on standard output. bash cannot listen
# itself; whatever starts it once for each connection can. On a machine with systemd:
#
#   WEBHOOK_SECRET=whsec_... systemd-socket-activate -l 127.0.0.1:5001 --accept --inetd -E WEBHOOK_SECRET ./agent.sh
#
# elsewhere: socat TCP-LISTEN:5001,bind=127.0.0.1,fork,reuseaddr EXEC:./agent.sh
# It needs bash, openssl and jq.
set -euo pipefail

max_body=$((8 * 1024 * 1024))
max_age=300 # seconds

# "whsec_" and base64, or any other text. Everybody could sign with an empty key.
if [[ $WEBHOOK_SECRET == whsec_* ]]; then valid='^whsec_[A-Za-z0-9+/]{2,}=*$'; else valid='[^[:space:]]'; fi
if [[ ! $WEBHOOK_SECRET =~ $valid ]]; then
  echo 'WEBHOOK_SECRET has no key: it is some text, or "whsec_" followed by base64' >&2
  exit 1
fi

reply() { # status, body
  local length
  length=$(printf '%s' "${2-}" | wc -c)
  printf 'HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
    "$1" "$length" "${2-}"
  exit 0
}

# openssl takes the key on its command line only: use this where all who can list processes may know it.
sign() { # what is signed comes on standard input
  local key encoded=${WEBHOOK_SECRET#whsec_}
  if [[ $encoded == "$WEBHOOK_SECRET" ]]; then
    key=$(printf '%s' "$WEBHOOK_SECRET" | od -An -v -tx1)
  else
    encoded=${encoded%%=*}
    while ((${#encoded} % 4)); do encoded+='='; done
    key=$(openssl base64 -d -A <<<"$encoded" | od -An -v -tx1)
  fi
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:${key//[[:space:]]/}" -binary | openssl base64 -A
}

declare -A headers=()
read -r -t 10 _request || exit 0
while read -r -t 10 line && line=${line%$'\r'} && [[ -n $line ]]; do
  name=${line%%:*}
  headers[${name,,}]=$(sed 's/^[[:space:]]*//; s/[[:space:]]*$//' <<<"${line#*:}")
done

length=${headers[content-length]-}
[[ $length =~ ^[0-9]{1,9}$ ]] && ((10#$length <= max_body)) || reply '413 Content Too Large'
body=$(mktemp)
trap 'rm -f "$body"' EXIT
timeout 30 head -c "$length" >"$body"

# Standard Webhooks 1.0.0: who sent it, and when.
id=${headers[webhook-id]-} timestamp=${headers[webhook-timestamp]-}
[[ $timestamp =~ ^[0-9]{1,12}$ ]] || reply '401 Unauthorized'
age=$(($(date +%s) - 10#$timestamp))
((${age#-} <= max_age)) || reply '401 Unauthorized'
expected="v1,$({ printf '%s.%s.' "$id" "$timestamp" && cat "$body"; } | sign)"
[[ " ${headers[webhook-signature]-} " == *" $expected "* ]] || reply '401 Unauthorized'

# Decide by "verified" and "identities", never by a name or a profile.
said=$(timeout 30 jq -c '
  ([.parts[] | select(.kind == "text") | .content | split("\n")[] | split(" ")[] | select(. != "")] | length) as $words
  | if .sender.verified
    then { text: "The shell heard \($words) words from \(.sender.address)." }
    else { text: "The shell only talks to people whose address is proven." }
    end' "$body") || reply '400 Bad Request'
reply '200 OK' "$said"
