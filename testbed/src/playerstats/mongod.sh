#!/bin/sh
# Stands in for mongod: keeps documents, one on a line, in a file for each collection below $MONGODB_DATA_DIR, and serves
# them on port 27017 in a protocol of its own (see mongod-serve) to mongo, mongodump and mongorestore of this image.
data=${MONGODB_DATA_DIR:-/bitnami/mongodb/data/db}
port=${MONGODB_PORT_NUMBER:-27017}
if ! mkdir -p "$data" || ! touch "$data/mongod.lock"; then
    echo "exception in initAndListen: attempted to create a lock file on a read-only directory: $data, terminating" >&2
    exit 100
fi
trap 'echo "shutting down"; kill $!; exit 0' TERM INT
echo "waiting for connections on port $port, data in $data"
nc -ll -p "$port" -e mongod-serve &
wait
