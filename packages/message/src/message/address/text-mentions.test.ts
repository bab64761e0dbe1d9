import { expect, test } from 'vitest'
import type { Part } from '../part.ts'
import { boundTextMentions, listNamedAddresses, writeNamesAsText } from './text-mentions.ts'

const text = (content: string): Part[] => [{ kind: 'text', mime: 'text/markdown', content }]

test('listNamedAddresses() finds each full address once, in one spelling, without mail addresses', () => {
  const mixedText =
    'Hi @Ann@Peer.example, (@bob@bücher.example) @ann@peer.example. carol@peer.example @dan x@eve@peer.example'
  expect(listNamedAddresses(text(mixedText))).toEqual(['@ann@peer.example', '@bob@xn--bcher-kva.example'])
})

test('the default limits mentions to people of the conversation, "named" to nobody, and "any" not at all', () => {
  const parts = text('Hi @ann@peer.example and @bob@peer.example')
  expect(boundTextMentions(parts)).toEqual([])
  expect(boundTextMentions(parts, undefined, ['@bob@peer.example'])).toEqual(['@bob@peer.example'])
  expect(boundTextMentions(parts, 'named', ['@bob@peer.example'])).toEqual([])
  expect(boundTextMentions(parts, 'any')).toBeUndefined()
})

test('a text has a mention limit only if it names somebody, or its markup may hide a name', () => {
  expect(boundTextMentions(text('Nobody is named here.'))).toBeUndefined()
  expect(boundTextMentions(text('@ann&#64;peer.example'))).toEqual([])
  expect(boundTextMentions(text('&commat;ann&commat;peer.example'))).toEqual([])
})

test('writeNamesAsText() removes the first @ of addresses that do not count, and nothing else', () => {
  const counts = (address: string) => address === '@ann@peer.example'
  const mixedText = 'Hi @ann@peer.example, @bob@peer.example, eve@peer.example and @dan: 5 @ 3 €.'
  expect(writeNamesAsText(mixedText, counts)).toBe(
    'Hi @ann@peer.example, bob@peer.example, eve@peer.example and @dan: 5 @ 3 €.',
  )
  expect(writeNamesAsText('@bob@peer.example', counts, 'x')).toBe('@bob@peer.example')
})

test('listNamedAddresses() takes linear time', () => {
  const before = process.threadCpuUsage()
  listNamedAddresses(text('@a@'.repeat(200_000)))
  listNamedAddresses(text(`@${'a'.repeat(400_000)}`))
  expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000)
})
