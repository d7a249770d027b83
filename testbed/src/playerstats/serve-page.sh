#!/bin/sh
# A page on port 80. A first process hears no signal that it does not wait for.
trap 'exit 0' TERM INT
httpd -f -p 80 -h /www &
wait
