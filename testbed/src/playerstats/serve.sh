#!/bin/sh
# One connection: a line with verb, database and collection; for INSERT a document follows, for MERGE lines of database,
# collection and document up to a line with a single dot. Answers end with a line that says ok or what is wrong.
data=${MONGODB_DATA_DIR:-/bitnami/mongodb/data/db}
tab=$(printf '\t')

file_of() {
    case "$1$2" in *[!A-Za-z0-9_-]*) echo "error: a name with other characters than letters, digits, _ and -"; exit 0 ;; esac
    file=$data/$1.$2
}

read -r verb database collection || exit 0
case $verb in
PING)
    [ -e "$data/mongod.lock" ] && echo ok || echo "error: no data directory"
    ;;
INSERT)
    file_of "$database" "$collection"
    read -r document && printf '%s\n' "$document" >> "$file" && echo ok || echo "error: cannot write $file"
    ;;
FIND)
    file_of "$database" "$collection"
    [ ! -e "$file" ] || cat "$file"
    echo ok
    ;;
REMOVE)
    file_of "$database" "$collection"
    rm -f "$file" && echo ok || echo "error: cannot remove $file"
    ;;
DUMP)
    for file in "$data"/*.*; do
        name=${file##*/}
        [ "$name" = mongod.lock ] || [ ! -e "$file" ] && continue
        sed "s/^/${name%%.*}$tab${name#*.}$tab/" "$file"
    done
    echo ok
    ;;
MERGE)
    # As mongorestore does without --drop: what is there already stays as it is.
    restored=0
    while IFS=$tab read -r database collection document && [ "$database" != . ]; do
        file_of "$database" "$collection"
        grep -qxF -e "$document" "$file" 2>/dev/null && continue
        printf '%s\n' "$document" >> "$file" || { echo "error: cannot write $file"; exit 0; }
        restored=$((restored + 1))
    done
    echo "restored $restored"
    echo ok
    ;;
*)
    echo "error: what is $verb?"
    ;;
esac
