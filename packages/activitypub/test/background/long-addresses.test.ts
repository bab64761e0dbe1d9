import { parseUrl, toAsciiDomain } from '@postern/message'
import { measureGrowth } from '@postern/testing/growth'
import { afterEach, expect, test } from 'vitest'
import { createBlocklist, isBlockedUrl } from '../../src/domains/blocklist.ts'
import { normalizeNote } from '../../src/html/read-note.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

let stage: Stage | undefined

afterEach(() => stage?.close())

/**
 * The highest accepted ratio of times. It is generous for linear work. If the work grew with the square, eight times the input would take 64
 * times as long.
 */
const linear = 24
const readOptions = { isOwnMention: () => false, addresses: [] }
const attach = (url: string) => ({ type: 'Document', mediaType: 'image/png', url })

test('the gateway keeps the text of a post and drops every URL that is too long', async () => {
  stage = await openStage({ config: { block: ['blocked.test'] } })
  const { gateway, alice, listStoredMessages } = stage
  const labels = `https://${'a.'.repeat(7_000)}blocked.test/a.png`
  const attachment = [attach(`https://good.test/${'a'.repeat(2_040)}`), ...Array(62).fill(attach(labels))]
  const shortAttachment = attach('https://good.test/a.png')
  const { status } = await postActivity(
    gateway,
    alice,
    composeNote(alice, { attachment: [...attachment, shortAttachment] }),
  )
  expect(status).toBe(202)
  const [record] = await listStoredMessages()
  expect(record?.message.parts).toEqual([
    expect.objectContaining({ kind: 'text', content: 'Hello' }),
    expect.objectContaining({ kind: 'file', bytes_ref: { kind: 'url', url: 'https://good.test/a.png' } }),
  ])
})

test.each([
  ['block list', { block: ['blocked.test'], allow: [] }],
  ['allow list', { block: [], allow: ['good.test'] }],
])('the gateway checks a host of many labels with a %s in linear time, and blocks it', (_, lists) => {
  const isBlocked = createBlocklist(lists as Parameters<typeof createBlocklist>[0])
  const look = (text: string) => expect(isBlocked(`${text}good.test`)).toBe(true)
  expect(measureGrowth(look, 'a.', 32_000)).toBeLessThan(linear)
  expect(measureGrowth(text => isBlockedUrl(`https://${text}good.test/`, isBlocked), 'a.', 32_000)).toBeLessThan(linear)
})

test('the block list distinguishes hosts of 127 labels', () => {
  const isBlocked = createBlocklist({ block: ['b.c'], allow: [] } as unknown as Parameters<typeof createBlocklist>[0])
  expect(isBlocked(`${'a.'.repeat(125)}b.c`)).toBe(true)
  expect(isBlocked(`${'a.'.repeat(125)}c.c`)).toBe(false)
})

test.each(['a.', 'ü.', 'a', 'ü', 'xn--a.', '%61'])('the gateway reads a URL of many "%s" in linear time', piece => {
  const size = piece.length * 80_000
  expect(measureGrowth(text => parseUrl(`https://${text}`), piece, size)).toBeLessThan(linear)
  expect(measureGrowth(text => toAsciiDomain(`${text}test`), piece, size)).toBeLessThan(linear)
  const note = (text: string) => ({
    type: 'Note',
    content: 'a',
    attachment: Array(8).fill(attach(`https://${text}`)),
  })
  expect(measureGrowth(text => normalizeNote(note(text), readOptions), piece, size)).toBeLessThan(linear)
})
