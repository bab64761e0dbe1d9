// Tests that two gateways on one database keep the order of conversations.
import type { MessageRecord } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { untilAllAnswered } from '../load.ts'
import { openClusterPair } from './open-cluster-pair.ts'

test('two gateways on one database answer 500 messages once each, and each conversation in order', {
  timeout: 240_000,
}, async () => {
  const { gateways } = (await openClusterPair()).pair
  const [one, two] = gateways
  // Each conversation uses both gateways in turn; the last message of each waits for its answer.
  const conversations = Array.from({ length: 50 }, async (_, number) => {
    for (let index = 0; index < 10; index += 1) {
      const id = `c${number}-${index}`
      const answer = await gateways[index % 2]?.send({ id, text: id, context: `c${number}`, isDetached: index < 9 })
      expect(answer?.status, answer?.text).toBe(200)
      if (index === 9) expect(answer?.text).toContain(`heard ${id}`)
    }
  })
  await Promise.all(conversations)
  const messages = await untilAllAnswered(two, 500)
  expect(new Set(messages.map(({ id }) => id)).size).toBe(500)
  const threads = new Map<number, { readonly id: string; readonly at: string | undefined }[]>()
  for (const { id } of messages) {
    const record = await one.ask<MessageRecord>(`/messages/${encodeURIComponent(id)}`)
    expect(JSON.stringify(record.response?.parts)).toContain(`heard ${id}`)
    threads.set(record.thread, [...(threads.get(record.thread) ?? []), { id, at: record.response?.created_at }])
  }
  expect(threads.size).toBe(50)
  for (const entry of threads.values()) {
    const inOrder = entry.toSorted((a, b) => Number(a.id.split('-')[1]) - Number(b.id.split('-')[1]))
    const times = inOrder.map(({ at }) => at)
    expect(times).toEqual(times.toSorted())
  }
})
