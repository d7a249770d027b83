#!/bin/sh
# Stands in for curl: GET of one address over HTTP/1.0, the body to standard output.
url=
for argument in "$@"; do
    case $argument in -*) ;; *) url=$argument ;; esac
done
url=${url#http://}
host=${url%%/*} path=/${url#"${url%%/*}"}
path=/${path##/}
port=80
case $host in *:*) port=${host##*:} host=${host%:*} ;; esac
answer=$(printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$path" "$host" | nc -w 5 "$host" "$port")
case $answer in
HTTP/1.?\ [123]*) printf '%s\n' "$answer" | sed '1,/^\r*$/d' ;;
'') echo "curl: (7) Failed to connect to $host port $port" >&2; exit 7 ;;
*) echo "curl: (22) ${answer%%
*}" >&2; exit 22 ;;
esac
