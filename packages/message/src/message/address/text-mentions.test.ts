import { expect, test } from 'vitest'
import type { Part } from '../part.ts'
import { boundTextMentions, listNamedAddresses, writeNamesAsText } from './text-mentions.ts'

const text = (content: string): Part[] => [{ kind: 'text', mime: 'text/markdown', content }]

test('listNamedAddresses() reads each full address once, in one spelling, and no mail address', () => {
  const said =
    'Hi @Ann@Peer.example, (@bob@bücher.example) @ann@peer.example. carol@peer.example @dan x@eve@peer.example'
  expect(listNamedAddresses(text(said))).toEqual(['@ann@peer.example', '@bob@xn--bcher-kva.example'])
})

test('the default bounds a text to people of the conversation, "named" to nobody, and "any" to no one in particular', () => {
  const parts = text('Hi @ann@peer.example and @bob@peer.example')
  expect(boundTextMentions(parts)).toEqual([])
  expect(boundTextMentions(parts, undefined, ['@bob@peer.example'])).toEqual(['@bob@peer.example'])
  expect(boundTextMentions(parts, 'named', ['@bob@peer.example'])).toEqual([])
  expect(boundTextMentions(parts, 'any')).toBeUndefined()
})

test('a text without a name has no bound, and one whose markup may hide a name has', () => {
  expect(boundTextMentions(text('Nobody is named here.'))).toBeUndefined()
  expect(boundTextMentions(text('@ann&#64;peer.example'))).toEqual([])
  expect(boundTextMentions(text('&commat;ann&commat;peer.example'))).toEqual([])
})

test('writeNamesAsText() takes the first @ of addresses that do not count, and leaves everything else', () => {
  const counts = (address: string) => address === '@ann@peer.example'
  const said = 'Hi @ann@peer.example, @bob@peer.example, eve@peer.example and @dan: 5 @ 3 €.'
  expect(writeNamesAsText(said, counts)).toBe(
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
