# The server takes the data without a restart, as a replica takes it from its master: a scratch server is that for a moment. Goes behind
# the lines that every restore begins with, which have `whole`.
[ -z "${PILOTHOUSE_PASSWORD-}" ] || export REDISCLI_AUTH="$PILOTHOUSE_PASSWORD"
# No server has this port by itself: one whose master has it is left from an attempt that was cut.
port=26399

target() {
  if [ -n "${PILOTHOUSE_USER-}" ]; then set -- --user "$PILOTHOUSE_USER" "$@"; fi
  redis-cli -h "$PILOTHOUSE_HOST" -p "$PILOTHOUSE_PORT" "$@"
}
scratch() {
  REDISCLI_AUTH=$control redis-cli -s /scratch/redis.sock --user control "$@"
}
fail() {
  echo "$PILOTHOUSE_HOST: $*" >&2
  exit 1
}
# Thirty-two hexadecimal digits.
draw() {
  # shellcheck disable=SC2046 # two words
  set -- $(od -A n -v -t x8 -N 16 /dev/urandom)
  drawn=$1$2
}
# The value of a setting.
setting() {
  value=$(target CONFIG GET "$1")
  case $value in
    "$1"*) value=${value#"$1"} ;;
    *) fail "CONFIG GET $1: $value" ;;
  esac
  value=${value#'
'}
}
# The number by which versions follow each other.
version() {
  number=$(sed -n 's/^redis_version:\([0-9]*\)\.\([0-9]*\).*/\1 \2/p' "$1")
  [ -n "$number" ] || fail 'INFO does not tell its version'
  # shellcheck disable=SC2086 # two words
  set -- $number
  number=$(($1 * 1000 + $2))
}
# It is master again, whatever has happened: while it loads it does not listen to that.
release() {
  code=$?
  trap '' TERM INT
  trap - EXIT
  if [ "$bound" = yes ]; then
    until [ "$(target REPLICAOF NO ONE)" = OK ]; do
      echo "$PILOTHOUSE_HOST: REPLICAOF NO ONE is said until it is heard" >&2
      sleep 1
    done
  fi
  case $password in
    pilothouse-*) target CONFIG SET masterauth '' > /scratch/said || code=1 ;;
  esac
  kill "$server" 2> /scratch/said || :
  exit "$code"
}

# Who transfers may have failed before there was anything to read: the pod has a long time for its end, and nothing to use it for yet.
trap 'exit 143' TERM INT
cat "$PILOTHOUSE_INPUT" > /scratch/dump.rdb &
wait "$!"
whole
redis-check-rdb /scratch/dump.rdb > /scratch/checked || { cat /scratch/checked >&2; exit 1; }

role=$(target ROLE)
bound=no
case $role in
  master*) ;;
  slave*"
$port
"*)
    echo 'an attempt of before was cut: it is taken up again'
    bound=yes
    ;;
  slave*) fail 'this is a replica: name the server that takes writes' ;;
  *) fail "ROLE: $role" ;;
esac
password=
server=
trap release EXIT
target INFO > /scratch/target
case $(cat /scratch/target) in
  *cluster_enabled:1*) fail 'a server of a Redis Cluster takes data from nobody but its like: restore it with its own tools' ;;
esac
case $(target PUBSUB NUMSUB __sentinel__:hello) in
  *'
0') ;;
  *) fail 'a Sentinel looks after it and would make another one the master: stop that first' ;;
esac
setting databases
databases=$value
setting masteruser
user=$value
setting masterauth
password=$value

# Nobody else reads from the scratch server, and nobody at all writes to it.
umask 077
case $password in
  '') fresh=yes ;;
  pilothouse-*) fresh=yes ;;
  *) fresh=no ;;
esac
if [ "$fresh" = yes ]; then
  draw
  password=pilothouse-$drawn
fi
draw
control=$drawn
printf %s "$password" > /scratch/password
printf %s "$control" > /scratch/control
# shellcheck disable=SC2046 # the hash, and the name of the file
{
  set -- $(sha256sum /scratch/password)
  hash=$1
  set -- $(sha256sum /scratch/control)
}
{
  echo "user control on #$1 +ping +info"
  for name in $user default; do
    echo "user $name reset on #$hash +psync +replconf +ping"
  done
} > /scratch/acl
redis-server --dir /scratch --dbfilename dump.rdb --databases "$databases" --save '' --appendonly no --port "$port" \
  --repl-diskless-sync-delay 0 --bind '*' '-::*' --protected-mode no --unixsocket /scratch/redis.sock \
  --aclfile /scratch/acl > /scratch/log &
server=$!
until [ "$(scratch PING 2> /scratch/said)" = PONG ]; do
  kill -0 "$server" || { cat /scratch/log >&2; exit 1; }
  sleep 1
done
scratch INFO server > /scratch/own
version /scratch/own
own=$number
version /scratch/target
[ "$own" -le "$number" ] || fail 'it is older than the Redis of the image, whose files it cannot read: name its own version as image'

if [ "$fresh" = yes ]; then
  said=$(target -x CONFIG SET masterauth < /scratch/password)
  [ "$said" = OK ] || fail "CONFIG SET masterauth: $said"
fi
# From a pod with the same address nothing would be taken anew.
[ "$bound" = no ] || target REPLICAOF NO ONE
said=$(target REPLICAOF "$PILOTHOUSE_POD_IP" "$port")
[ "$said" = OK ] || fail "REPLICAOF: $said"
bound=yes
# Lines of INFO end so: no address is the beginning of another one.
ours=$(printf 'master_host:%s\r' "$PILOTHOUSE_POD_IP")
tries=0
until [ "$tries" = done ]; do
  kill -0 "$server" || { cat /scratch/log >&2; exit 1; }
  said=$(target INFO replication 2> /scratch/said) || said=
  case $said in
    # It loads, or is not to be reached meanwhile.
    '') ;;
    LOADING*) ;;
    *"$ours"*master_link_status:up*) tries=done ;;
    *"$ours"*master_sync_in_progress:1*) tries=0 ;;
    *"$ours"*) tries=$((tries + 1)) ;;
    *role:*)
      bound=no
      fail 'somebody else has said meanwhile who its master is: the data may be of that one'
      ;;
  esac
  [ "$tries" = done ] || {
    [ "$tries" -le 60 ] || {
      grep -e 'RDB format version' /scratch/log >&2 || :
      fail "it does not take the data from $PILOTHOUSE_POD_IP:$port: is there a NetworkPolicy? Its log tells more"
    }
    sleep 1
  }
done
[ "$(target REPLICAOF NO ONE)" = OK ] || fail 'it does not become master again'
# With a log of changes, what is on its disk is the old data until that is written anew.
until
  target INFO persistence > /scratch/said || :
  case $(cat /scratch/said) in
    *aof_enabled:0*) true ;;
    *aof_rewrite_in_progress:1*) false ;;
    *aof_rewrite_scheduled:1*) false ;;
    *aof_enabled:1*) true ;;
    *) false ;;
  esac
do
  sleep 1
done
case $(cat /scratch/said) in
  *aof_enabled:1*aof_last_bgrewrite_status:err*) fail 'the log of changes could not be written anew: is its disk full? After a restart the old data is back' ;;
esac
