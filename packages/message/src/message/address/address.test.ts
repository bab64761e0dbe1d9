import { describe, expect, test } from 'vitest'
import { Rejection } from '../../format/errors.ts'
import { formatAddress, parseAddress, toAsciiDomain } from './address.ts'

const good: readonly (readonly [spelling: string, canonical: string])[] = [
  ['@agent@domain.tld', '@agent@domain.tld'],
  ['agent@domain.tld', '@agent@domain.tld'],
  ['acct:agent@domain.tld', '@agent@domain.tld'],
  ['ACCT:agent@domain.tld', '@agent@domain.tld'],
  ['@Agent@Domain.TLD', '@agent@domain.tld'],
  ['@agent@domain.tld.', '@agent@domain.tld'],
  ['@first.last+tag@domain.tld', '@first.last+tag@domain.tld'],
  ['@agent@agent.localhost', '@agent@agent.localhost'],
  ['@agent@a.b.test', '@agent@a.b.test'],
  ['@agent@bücher.example', '@agent@xn--bcher-kva.example'],
  ['@agent@BÜCHER.example', '@agent@xn--bcher-kva.example'],
  ['@agent@xn--bcher-kva.example', '@agent@xn--bcher-kva.example'],
  ['@agent@例え。テスト', '@agent@xn--r8jz45g.xn--zckzah'],
  [`@${'a'.repeat(64)}@domain.tld`, `@${'a'.repeat(64)}@domain.tld`],
]

const bad: readonly (readonly [what: string, text: string])[] = [
  ['nothing', ''],
  ['no @', 'agent.domain.tld'],
  ['no local part', '@d.tld'],
  ['an empty local part', '@@d.tld'],
  ['a third part', '@a@b@c'],
  ['a third part with dots', '@a@b.test@c.test'],
  ['a bare host name', '@a@localhost'],
  ['no domain', '@a@'],
  ['an IPv4 address', '@a@127.0.0.1'],
  ['an IPv4 address in disguise', '@a@0x7f.1'],
  ['an IPv6 address', '@a@[::1]'],
  ['a port', '@a@domain.tld:8080'],
  ['a path', '@a@domain.tld/x'],
  ['a query', '@a@domain.tld?x'],
  ['a fragment', '@a@domain.tld#x'],
  ['an escape', '@a@dom%61in.tld'],
  ['a backslash', '@a@domain.tld\\x'],
  ['a blank', '@a b@domain.tld'],
  ['a blank in the domain', '@a@domain .tld'],
  ['a line break', '@a@domain.tld\r\nBcc: b@c.tld'],
  ['a NUL', '@a@domain\0.tld'],
  ['an empty label', '@a@domain..tld'],
  ['a label that begins with a hyphen', '@a@-domain.tld'],
  ['a label that ends with a hyphen', '@a@domain-.tld'],
  ['an underscore in the domain', '@a@do_main.tld'],
  ['a label of 64 characters', `@a@${'d'.repeat(64)}.tld`],
  ['a domain of more than 253 characters', `@a@${'d.'.repeat(126)}tld`],
  ['a local part of 65 characters', `@${'a'.repeat(65)}@domain.tld`],
  ['a local part that is not ASCII', '@büro@domain.tld'],
  ['a quoted local part', '"a b"@domain.tld'],
  ['a display name', 'A <a@domain.tld>'],
]

describe('parseAddress()', () => {
  test.each(good)('reads %s as %s (MN-1.2)', (spelling, canonical) => {
    expect(formatAddress(parseAddress(spelling))).toBe(canonical)
  })

  test.each(bad)('refuses %s', (_what, text) => {
    const read = () => parseAddress(text)
    expect(read).toThrow(Rejection)
    expect(read).toThrow(
      expect.objectContaining({ code: 'malformed', message: 'Cannot read address: expected "@name@domain.tld"' }),
    )
  })

  test('parses the output of formatAddress()', () => {
    const address = { local: 'agent', domain: 'xn--bcher-kva.example' }
    expect(parseAddress(formatAddress(address))).toEqual(address)
  })
})

describe('toAsciiDomain()', () => {
  test('returns lower-case A-labels without the root dot', () => {
    expect(toAsciiDomain('Bücher.Example.')).toBe('xn--bcher-kva.example')
  })

  test('returns undefined for a name without two labels', () => {
    for (const name of ['', 'localhost', '10.0.0.1', 'a..b', 'user@d.tld', 'https://d.tld']) {
      expect(toAsciiDomain(name)).toBeUndefined()
    }
  })
})
