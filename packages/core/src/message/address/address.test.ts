import { describe, expect, test } from 'vitest'
import { Rejection } from '../../format/errors.ts'
import {
  checkChainGoesOn,
  chooseMentions,
  clampAgentChain,
  formatAddress,
  isFinalHop,
  nextHop,
  parseAddress,
  renderAgentChain,
  toAsciiDomain,
} from './address.ts'

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

  test('reads what formatAddress() writes', () => {
    const address = { local: 'agent', domain: 'xn--bcher-kva.example' }
    expect(parseAddress(formatAddress(address))).toEqual(address)
  })
})

describe('toAsciiDomain()', () => {
  test('is lower-case A-labels without the root dot', () => {
    expect(toAsciiDomain('Bücher.Example.')).toBe('xn--bcher-kva.example')
  })

  test('returns undefined for a name that does not have two labels', () => {
    for (const name of ['', 'localhost', '10.0.0.1', 'a..b', 'user@d.tld', 'https://d.tld']) {
      expect(toAsciiDomain(name)).toBeUndefined()
    }
  })
})

const chain = (hop: number, max_hops: number, is_final = hop === max_hops) => ({ hop, max_hops, is_final })

test('MN-8.3: clampAgentChain() holds a claim to our ceiling and works is_final out anew', () => {
  expect(clampAgentChain({ hop: 2, max_hops: 99 }, 5)).toEqual(chain(2, 5))
  expect(clampAgentChain({ hop: 5, max_hops: 99 }, 5)).toEqual(chain(5, 5, true))
  expect(clampAgentChain({ hop: 2, max_hops: 3, is_final: true } as never, 5)).toEqual(chain(2, 3, false))
  expect(() => clampAgentChain({ hop: 6, max_hops: 99 }, 5)).toThrow(
    expect.objectContaining({
      code: 'forbidden',
      message: 'Cannot take message: agent chain is longer than 5 hops',
    }),
  )
})

test('MN-8.3: nextHop() begins a chain with hop 1, and no message raises the ceiling of this gateway', () => {
  expect(nextHop(undefined, 3)).toEqual(chain(1, 3))
  expect(nextHop(chain(1, 9), 2)).toEqual(chain(2, 2, true))
  expect(nextHop(undefined, 1)).toEqual(chain(1, 1, true))
})

test('MN-8.3: an agent on the final hop cannot call another agent', () => {
  expect(isFinalHop(undefined)).toBe(false)
  expect(isFinalHop(chain(2, 3))).toBe(false)
  // A wrong is_final does not help.
  expect(isFinalHop(chain(3, 3, false))).toBe(true)
  expect(() => checkChainGoesOn(chain(3, 3, false))).toThrow(
    expect.objectContaining({
      code: 'forbidden',
      message: 'Cannot call agent: agent chain is longer than 3 hops',
    }),
  )
  expect(() => checkChainGoesOn(chain(2, 3))).not.toThrow()
})

test('MN-8.3: renderAgentChain() gives the position of the agent, and tells the last one to conclude', () => {
  expect(renderAgentChain(chain(2, 5))).toBe(
    'Agents are passing this on to each other. You are hop 2 of at most 5. 3 more are possible after you; bring in another agent only where it is needed.',
  )
  expect(renderAgentChain(chain(4, 5))).toContain('1 more is possible')
  expect(renderAgentChain(chain(5, 5))).toBe(
    'Agents are passing this on to each other. You are hop 5 of at most 5. You are the last: conclude with what there is, and call, mention or invite no other agent.',
  )
})

const limits = { without: ['@me@a.test', '@alice@b.test'], most: 3 }

test('MN-8.1: an answer wakes each mentioned agent once, never its own agent or the sender', () => {
  const mentions = ['@Me@A.test', 'acct:alice@b.test', '@bob@c.test', 'bob@c.test', 'acct:BOB@C.test', '@carol@d.test']
  expect(chooseMentions(mentions, limits)).toEqual(['@bob@c.test', '@carol@d.test'])
})

test('chooseMentions() chooses a bounded number, and ignores texts that are not addresses', () => {
  const mentions = ['@x', 'https://c.test/u/bob', '', '@1@c.test', '@2@c.test', '@3@c.test', '@4@c.test']
  expect(chooseMentions(mentions, limits)).toEqual(['@1@c.test', '@2@c.test', '@3@c.test'])
})
