import { createFixedSecret } from '@postern/testing'
import { expect, test } from 'vitest'
import { createAddressTokens, replyAlias } from './address-tokens.ts'
import { parseHopField } from './hop-field.ts'

const tokens = createAddressTokens(createFixedSecret('a key of the gateway'), 'agents.test')
const otherTokens = createAddressTokens(createFixedSecret('another key'), 'agents.test')
const responseId = '0123456789abcdef0123456789abcdef'
const issuedAt = Date.UTC(2026, 10, 21)
const dayMs = 24 * 3_600_000
const readLocalPart = (address: string | undefined) => address?.split('@')[0] ?? ''
const extractTag = (address: string | undefined) => readLocalPart(address).split('+').slice(1).join('+')

test('a bounce address identifies its delivery, only for the agent and gateway that created it', () => {
  const tag = extractTag(tokens.formatBounceAddress('echo', '42'))
  expect(tokens.readTag('echo', tag, issuedAt)).toEqual({ token: { kind: 'bounce', delivery: '42' } })
  expect(tokens.readTag('echo', tag.toUpperCase(), issuedAt).token).toEqual({ kind: 'bounce', delivery: '42' })
  expect(tokens.readTag('help', tag, issuedAt)).toEqual({ tag })
  expect(otherTokens.readTag('echo', tag, issuedAt)).toEqual({ tag })
})

test('a reply address identifies the answer for half a year, and keeps the peer’s tag', () => {
  const tag = extractTag(tokens.formatReplyAddress('echo', { response: responseId, tag: 'case-42', issuedAt }))
  const expectedTag = { token: { kind: 'reply', alias: replyAlias(responseId) }, tag: 'case-42' }
  expect(tokens.readTag('echo', tag, issuedAt)).toEqual(expectedTag)
  expect(tokens.readTag('echo', tag, issuedAt + 179 * dayMs)).toEqual(expectedTag)
  expect(tokens.readTag('echo', tag, issuedAt + 181 * dayMs).token).toBeUndefined()
})

test('a bounce address has no token, and a reply address does not exist, if its local part would exceed 64 bytes', () => {
  const longName = 'an-agent-with-a-very-long-name-indeed-and-more'
  expect(tokens.formatBounceAddress(longName, '1')).toBe(`${longName}@agents.test`)
  expect(tokens.formatReplyAddress(longName, { response: responseId, issuedAt })).toBeUndefined()
  expect(
    readLocalPart(tokens.formatReplyAddress('echo', { response: responseId, issuedAt })).length,
  ).toBeLessThanOrEqual(64)
  expect(readLocalPart(tokens.formatReplyAddress('a'.repeat(29), { response: responseId, issuedAt }))).toHaveLength(64)
  expect(tokens.formatReplyAddress('a'.repeat(30), { response: responseId, issuedAt })).toBeUndefined()
  expect(readLocalPart(tokens.formatBounceAddress('a'.repeat(38), '42'))).toHaveLength(64)
  expect(tokens.formatBounceAddress('a'.repeat(39), '42')).toBe(`${'a'.repeat(39)}@agents.test`)
})

test('only its own gateway recognizes the hop field', () => {
  const hopField = tokens.formatHop('echo', { hop: 1 }, responseId)
  const hopFieldWithMax = tokens.formatHop('echo', { hop: 1, maxHops: 5 }, responseId)
  for (const ownHop of [hopField, hopFieldWithMax]) {
    expect(tokens.isOwnHop(ownHop)).toBe(true)
    expect(tokens.isOwnHop(ownHop.replace('hop=1', 'hop=2'))).toBe(false)
    expect(otherTokens.isOwnHop(ownHop)).toBe(false)
  }
  expect(tokens.isOwnHop(hopFieldWithMax.replace('max=5', 'max=9'))).toBe(false)
  expect(tokens.isOwnHop(hopFieldWithMax.replace(' max=5;', ''))).toBe(false)
  expect(
    [hopField, hopFieldWithMax, `x${hopFieldWithMax}x`, hopFieldWithMax.replace('hop=1', 'hop=0')].map(parseHopField),
  ).toEqual([{ hop: 1 }, { hop: 1, maxHops: 5 }, undefined, undefined])
  expect(tokens.isOwnHop('')).toBe(false)
})

test('an invalid text that resembles a token is a tag', () => {
  for (const tag of ['b.1.', `b..${'0'.repeat(20)}`, `r.${'f'.repeat(32)}`, 'case+b.1.2', '+', '']) {
    expect(tokens.readTag('echo', tag, issuedAt).token).toBeUndefined()
  }
  expect(tokens.readTag('echo', undefined, issuedAt)).toEqual({})
})
