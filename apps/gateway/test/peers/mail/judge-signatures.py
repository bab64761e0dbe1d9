"""Prints for each DKIM signature of the mail on stdin, top first: the domain, the algorithm and dkimpy's verdict."""
import sys

import dkim
import dns.resolver

address, port = sys.argv[1:]
resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers = [address]
resolver.port = int(port)
dns.resolver.default_resolver = resolver

mail = sys.stdin.buffer.read()
signatures = [value for name, value in dkim.rfc822_parse(mail)[0] if name.lower() == b"dkim-signature"]


def is_good(index):
    try:
        return dkim.DKIM(mail).verify(idx=index)
    except dkim.DKIMException:
        return False


for index, signature in enumerate(signatures):
    tags = dkim.util.parse_tag_value(signature)
    print(tags[b"d"].decode(), tags[b"a"].decode(), is_good(index))
