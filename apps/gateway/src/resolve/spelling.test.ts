import { describe, expect, test } from 'vitest'
import { readAskedAddress } from './resolve-address.ts'

describe('readAskedAddress(), MN-1.2', () => {
  test.each([
    ['@echo@agents.test', 'echo', 'agents.test'],
    ['echo@agents.test', 'echo', 'agents.test'],
    ['acct:echo@agents.test', 'echo', 'agents.test'],
    ['acct:@echo@agents.test', 'echo', 'agents.test'],
    ['@ECHO@Agents.Test', 'echo', 'agents.test'],
    ['@a@agent.localhost', 'a', 'agent.localhost'],
    ['@a@bücher.example', 'a', 'xn--bcher-kva.example'],
    ['@a+b@d.tld', 'a+b', 'd.tld'],
  ])('takes %s', (text, local, domain) => {
    expect(readAskedAddress(text)).toEqual({ local, domain })
  })

  test.each([
    ['', 'it is empty'],
    ['@a b@d.tld', 'it holds spaces or control characters'],
    ['@a\u202e@d.tld', 'it holds spaces or control characters'],
    ['mailto:a@d.tld', 'it begins with another scheme than "acct:"'],
    ['https://d.tld/@a', 'it begins with another scheme than "acct:"'],
    ['@d.tld', 'there is no name before the "@"'],
    ['@@d.tld', 'there is no name before the "@"'],
    ['d.tld', 'there is no "@" between name and domain'],
    ['@a@b@c', 'it has one "@" too many'],
    ['@ä@d.tld', 'the name holds letters outside of ASCII, which v0.1 does not have'],
    [`@${'a'.repeat(65)}@d.tld`, 'the name is longer than 64 characters'],
    ['@.a@d.tld', 'the name begins, ends or goes on with a dot too many'],
    ['@a..b@d.tld', 'the name begins, ends or goes on with a dot too many'],
    ['@a"b@d.tld', 'the name holds characters that no name has (RFC 5321)'],
    ['@a@', 'there is no domain after the "@"'],
    ['@a@d.tld:8080', 'the domain has a port or a path'],
    ['@a@d.tld/x', 'the domain has a port or a path'],
    ['@a@127.0.0.1', 'the domain is a network address'],
    ['@a@[::1]', 'the domain is a network address'],
    ['@a@localhost', 'the domain has only one label'],
    ['@a@localhost.', 'the domain has only one label'],
    ['@a@-d.tld', 'the domain is no DNS name'],
    ['@a@d_x.tld', 'the domain is no DNS name'],
    [`@a@${'a'.repeat(64)}.tld`, 'the domain is no DNS name'],
  ])('refuses %j', (text, reason) => {
    expect(() => readAskedAddress(text)).toThrow(
      expect.objectContaining({ code: 'malformed', message: `Cannot read address: ${reason}` }),
    )
  })
})
