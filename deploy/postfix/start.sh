#!/bin/sh
# POSTERN_DOMAIN: the domain of the agents. POSTERN_NETWORK: who may send to others. MAIL_HOST: the name in MX.
set -eu
postconf -e "virtual_mailbox_domains=$POSTERN_DOMAIN" "mynetworks=127.0.0.0/8 $POSTERN_NETWORK" "myhostname=$MAIL_HOST"
exec postfix start-fg
