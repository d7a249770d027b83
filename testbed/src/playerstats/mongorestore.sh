#!/bin/sh
# Stands in for mongorestore: brings back what mongodump wrote below dump/ of the working directory. What is there already
# stays, as with the real one without --drop.
host=127.0.0.1 port=27017 from=dump
while [ $# -gt 0 ]; do
    case $1 in
    -h | --host) host=$2; shift ;;
    --host=*) host=${1#*=} ;;
    --port) port=$2; shift ;;
    -*) echo "mongorestore: this stand-in does not know $1" >&2; exit 1 ;;
    *) from=$1 ;;
    esac
    shift
done
case $host in *:*) port=${host##*:} host=${host%:*} ;; esac
tab=$(printf '\t')
if [ ! -d "$from" ]; then
    echo "Failed: mongorestore target '$from' invalid: no such directory" >&2
    exit 1
fi
answer=$(
    {
        echo MERGE
        find "$from" -name '*.bson' | while read -r file; do
            name=${file#"$from"/}
            sed "s/^/$(dirname "$name")$tab$(basename "$name" .bson)$tab/" "$file"
        done
        echo .
    } | nc -w 5 "$host" "$port"
)
case $answer in
restored*ok) echo "${answer%%ok} document(s) restored successfully" ;;
*) echo "Failed: $host:$port: ${answer:-no answer}" >&2; exit 1 ;;
esac
