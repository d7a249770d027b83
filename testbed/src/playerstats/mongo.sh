#!/bin/sh
# Stands in for the mongo shell: understands --host, --port, --eval and the few calls that the charts and tests make.
host=127.0.0.1 port=27017 database=test script= quiet=
while [ $# -gt 0 ]; do
    case $1 in
    --host) host=$2; shift ;;
    --host=*) host=${1#*=} ;;
    --port) port=$2; shift ;;
    --port=*) port=${1#*=} ;;
    --eval) script=$2; shift ;;
    --eval=*) script=${1#*=} ;;
    --quiet) quiet=yes ;;
    -*) ;;
    */*) host=${1%%/*} database=${1#*/} ;;
    *) database=$1 ;;
    esac
    shift
done
case $host in *:*) port=${host##*:} host=${host%:*} ;; esac

ask() {
    answer=$(nc -w 5 "$host" "$port") || answer=
    case $answer in
    ok | *"
ok") ;;
    error:*) echo "uncaught exception: ${answer#error: }" >&2; exit 252 ;;
    *) echo "Error: couldn't connect to server $host:$port, connection attempt failed" >&2; exit 1 ;;
    esac
    answer=${answer%ok}
}

# db.COLLECTION.CALL(ARGUMENT)
call() {
    collection=${1#*db.} call=${1#*db.*.}
    collection=${collection%%.*}
    argument=${call#*\(} call=${call%%\(*}
    argument=${argument%)*}
    case $call in
    find) printf 'FIND %s %s\n' "$database" "$collection" | ask_and_print ;;
    count | countDocuments) printf 'FIND %s %s\n' "$database" "$collection" | { ask; printf '%s' "$answer" | grep -c . ; } ;;
    insert | insertOne)
        printf 'INSERT %s %s\n%s\n' "$database" "$collection" "$argument" | { ask; echo 'WriteResult({ "nInserted" : 1 })'; } ;;
    remove | deleteMany | drop) printf 'REMOVE %s %s\n' "$database" "$collection" | { ask; echo true; } ;;
    *) echo "uncaught exception: this stand-in does not know $1" >&2; exit 252 ;;
    esac
}

ask_and_print() {
    ask
    printf '%s' "$answer"
}

[ -n "$quiet" ] || echo "MongoDB shell (stand-in) connecting to $host:$port/$database"
case $script in
*adminCommand*ping*) printf 'PING\n' | { ask; echo '{ "ok" : 1 }'; } ;;
*hello\(\)* | *isMaster\(\)*) printf 'PING\n' | { ask; echo true; } ;;
*db.*.*\(*\)*) call "$script" ;;
*) echo "uncaught exception: this stand-in does not know: $script" >&2; exit 252 ;;
esac
