import { afterEach, expect, test, vi } from 'vitest'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

let stage: Stage | undefined

afterEach(() => stage?.close())

test('an agent’s description of a picture becomes its alt text, or else its file name', async () => {
  const url = 'https://files.test/1.png'
  const picture = { kind: 'file', name: 'cat.png', mime: 'image/png', bytes_ref: { kind: 'url', url } } as const
  const handle = () => ({ parts: [{ ...picture, description: 'A cat on a mat' }, picture] })
  stage = await openStage({ agents: { echo: { handle } } })
  const { peer, alice, gateway } = stage
  for (const inbox of ['good.test/users/alice/inbox', 'good.test/inbox'])
    peer.serve(`https://${inbox}`, { status: 202 })
  gateway.work()
  await postActivity(gateway, alice, composeNote(alice))
  const findSentBody = () => peer.requests.find(({ method }) => method === 'POST')?.body
  await vi.waitFor(() => expect(findSentBody()).toBeDefined())
  const document = { type: 'Document', url, mediaType: 'image/png' }
  expect(JSON.parse(findSentBody() ?? '').object.attachment).toEqual([
    { ...document, name: 'A cat on a mat' },
    { ...document, name: 'cat.png' },
  ])
})

test.each([
  [{ name: 'A cat' }, { description: 'A cat' }],
  [{ summary: 'A cat\nwith a hat' }, { description: 'A cat\nwith a hat' }],
  [{ name: 'A cat', summary: 'A dog' }, { description: 'A cat' }],
  [{ name: 'cat_1(2).jpeg' }, { name: 'cat_1(2).jpeg' }],
  [{ name: 'See cat.png' }, { description: 'See cat.png' }],
  [{ name: '\u202ebad\u200b\u0007' }, { description: 'bad' }],
  [{ name: 'a '.repeat(3_000) }, { description: 'a '.repeat(2_500) }],
  [{}, {}],
])('the gateway reads %j of an attachment as %j', async (label, read) => {
  stage = await openStage()
  const { alice, gateway } = stage
  const attachment = { type: 'Image', url: 'https://files.test/1', ...label }
  await postActivity(gateway, alice, composeNote(alice, { attachment }))
  const [record] = await stage.listStoredMessages()
  expect(record?.message.parts.slice(1)).toEqual([
    { kind: 'file', bytes_ref: { kind: 'url', url: 'https://files.test/1' }, ...read },
  ])
})
