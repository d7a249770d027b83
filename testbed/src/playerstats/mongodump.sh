#!/bin/sh
# Stands in for mongodump: writes everything below dump/ of the working directory, in a file for each collection.
host=127.0.0.1 port=27017 out=dump
while [ $# -gt 0 ]; do
    case $1 in
    -h | --host) host=$2; shift ;;
    --host=*) host=${1#*=} ;;
    --port) port=$2; shift ;;
    -o | --out) out=$2; shift ;;
    --out=*) out=${1#*=} ;;
    *) echo "mongodump: this stand-in does not know $1" >&2; exit 1 ;;
    esac
    shift
done
case $host in *:*) port=${host##*:} host=${host%:*} ;; esac
tab=$(printf '\t')
mkdir -p "$out" || exit 1
all=$out/.all
printf 'DUMP\n' | nc -w 5 "$host" "$port" > "$all"
if [ "$(tail -n 1 "$all")" != ok ]; then
    echo "Failed: can't create session: could not connect to server $host:$port" >&2
    exit 1
fi
# A dump replaces the one before.
find "$out" -name '*.bson' -delete
sed '$d' "$all" | while IFS=$tab read -r database collection document; do
    mkdir -p "$out/$database"
    printf '%s\n' "$document" >> "$out/$database/$collection.bson"
done
rm "$all"
find "$out" -name '*.bson' | while read -r file; do
    name=${file#"$out"/}
    echo "done dumping $(dirname "$name").$(basename "$name" .bson) ($(wc -l < "$file") documents)"
done
