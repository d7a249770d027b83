# The first process of a node: `sh init.sh DIRECTORY KEEP…`, in new namespaces for mounts, network and processes.
# Everything it mounts is seen by this node only and is gone with it.
set -eu
directory=$1/node
shift

mount --make-rprivate /
mount -t proc proc /proc

# Remember what has to stay visible, cover what the node's programs write to, and show it again.
mount -t tmpfs -o mode=755 tmpfs /mnt
n=0
for keep in "$@"; do
    n=$((n + 1))
    mkdir "/mnt/$n"
    mount --bind "$keep" "/mnt/$n"
done
mkdir /mnt/node /mnt/dev-null
mount --bind "$directory" /mnt/node
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind /mnt/node/tmp /tmp
mount --bind /mnt/node/var-lib /var/lib
mount --bind /mnt/node/var-log /var/log
n=0
for keep in "$@"; do
    n=$((n + 1))
    if [ ! -e "$keep/." ] || ! [ "$keep" -ef "/mnt/$n" ]; then
        mkdir -p "$keep"
        mount --bind "/mnt/$n" "$keep"
    fi
done
mkdir -p /run/lock /run/netns /run/containerd /var/lib/cni
mount --make-rshared /

# Pods' packets are routed between their links.
echo 1 > /proc/sys/net/ipv4/ip_forward

touch "$directory/ready"

# The controller makes volumes that only root may enter; Kubernetes' own clusters for trying things out open them as well.
# A first process also has to wait for children that others left behind.
while :; do
    for volume in /tmp/hostpath_pv/*; do
        [ -d "$volume" ] && [ ! -k "$volume" ] && chmod 1777 "$volume"
    done
    sleep 0.2 &
    wait
done
