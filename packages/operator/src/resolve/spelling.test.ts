import { describe, expect, test } from 'vitest'
import { parseSpelledAddress } from './spelling.ts'

describe('parseSpelledAddress() (MN-1.2)', () => {
  test.each([
    ['@echo@agents.test', 'echo', 'agents.test'],
    ['echo@agents.test', 'echo', 'agents.test'],
    ['acct:echo@agents.test', 'echo', 'agents.test'],
    ['acct:@echo@agents.test', 'echo', 'agents.test'],
    ['@ECHO@Agents.Test', 'echo', 'agents.test'],
    ['@a@agent.localhost', 'a', 'agent.localhost'],
    ['@a@bücher.example', 'a', 'xn--bcher-kva.example'],
    ['@a+b@d.tld', 'a+b', 'd.tld'],
  ])('accepts %s', (text, local, domain) => {
    expect(parseSpelledAddress(text)).toEqual({ local, domain })
  })

  test.each([
    ['', 'it is empty'],
    ['@a b@d.tld', 'it contains spaces or control characters'],
    ['@a\u202e@d.tld', 'it contains spaces or control characters'],
    ['mailto:a@d.tld', 'it begins with a scheme other than "acct:"'],
    ['https://d.tld/@a', 'it begins with a scheme other than "acct:"'],
    ['@d.tld', 'there is no name before the "@"'],
    ['@@d.tld', 'there is no name before the "@"'],
    ['d.tld', 'there is no "@" between name and domain'],
    ['@a@b@c', 'it has one "@" too many'],
    ['@ä@d.tld', 'the name contains letters outside of ASCII, which v0.1 does not allow'],
    [`@${'a'.repeat(65)}@d.tld`, 'the name is longer than 64 characters'],
    ['@.a@d.tld', 'the name begins or ends with a dot, or has two dots in a row'],
    ['@a..b@d.tld', 'the name begins or ends with a dot, or has two dots in a row'],
    ['@a"b@d.tld', 'the name contains characters that are not allowed (RFC 5321)'],
    ['@a@', 'there is no domain after the "@"'],
    ['@a@d.tld:8080', 'the domain has a port or a path'],
    ['@a@d.tld/x', 'the domain has a port or a path'],
    ['@a@127.0.0.1', 'the domain is a network address'],
    ['@a@[::1]', 'the domain is a network address'],
    ['@a@localhost', 'the domain has only one label'],
    ['@a@localhost.', 'the domain has only one label'],
    ['@a@-d.tld', 'the domain is not a DNS name'],
    ['@a@d_x.tld', 'the domain is not a DNS name'],
    [`@a@${'a'.repeat(64)}.tld`, 'the domain is not a DNS name'],
  ])('refuses %j', (text, reason) => {
    expect(() => parseSpelledAddress(text)).toThrow(
      expect.objectContaining({ code: 'malformed', message: `Cannot read address: ${reason}` }),
    )
  })
})
