"""Prints for each DKIM signature of the mail on stdin, top first: the domain, the algorithm and dkimpy's verdict."""
import sys

import dkim
import dns.resolver

dns_address, dns_port = sys.argv[1:]
resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers = [dns_address]
resolver.port = int(dns_port)
dns.resolver.default_resolver = resolver

mail = sys.stdin.buffer.read()
signature_fields = [value for name, value in dkim.rfc822_parse(mail)[0] if name.lower() == b"dkim-signature"]


def is_valid(index):
    try:
        return dkim.DKIM(mail).verify(idx=index)
    except dkim.DKIMException:
        return False


for index, signature_field in enumerate(signature_fields):
    tags = dkim.util.parse_tag_value(signature_field)
    print(tags[b"d"].decode(), tags[b"a"].decode(), is_valid(index))
