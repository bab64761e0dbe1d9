// Tests that gateways on one database store texts unchanged.
import type { MessageRecord, MessageSummary } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { openClusterPair } from './open-cluster-pair.ts'

test('two gateways store text that looks like an escaped surrogate unchanged, and replace lone surrogates', {
  timeout: 240_000,
}, async () => {
  const { gateways } = (await openClusterPair()).pair
  const [one, two] = gateways
  const texts = [String.raw`\ud83d`, String.raw`a \\ud83d b`, String.raw`{"a":"\\\ude00"}`, 'half \ud83d of \\ud83d']
  for (const [index, text] of texts.entries()) {
    const wellFormedText = text.toWellFormed()
    const { text: answerText } = await one.send({ id: `m${index}`, text, context: 'c' })
    expect(JSON.stringify(JSON.parse(answerText))).toContain(JSON.stringify(`heard ${wellFormedText}`))
    const record = await two.ask<MessageRecord>(`/messages/m${index}`)
    expect(record.message.parts).toMatchObject([{ content: wellFormedText }])
    expect(record.response?.parts).toMatchObject([{ content: `heard ${wellFormedText}` }])
    const { items } = await two.ask<{ items: readonly MessageSummary[] }>('/messages?limit=1')
    expect(items[0]?.preview).toBe(wellFormedText)
    const exported = await two.ask('/transcript?format=agui&thread=m0')
    expect(JSON.stringify(exported)).toContain(JSON.stringify(`heard ${wellFormedText}`))
  }
})
