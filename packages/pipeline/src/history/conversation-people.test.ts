import type { Part } from '@postern/message'
import { expect, test, vi } from 'vitest'
import { createMemoryStore, turn } from '../../test/memory-store.ts'
import type { RunningAgent } from '../ports/turn/running-agent.ts'
import { findNamedPeople } from './conversation-people.ts'

const text = (content: string): Part[] => [{ kind: 'text', mime: 'text/markdown', content }]

function openStore() {
  const { store } = createMemoryStore()
  const entry = { seq: 1, entryId: 'e', parts: [], at: '' }
  const readHistory = vi.fn(async () => [
    { ...entry, role: 'user', author: { address: '@Bob@peer.test', verified: true } },
    { ...entry, role: 'user', author: { address: '@claimed@peer.test', verified: false } },
    { ...entry, role: 'user', author: { address: '@fetched@peer.test' } },
    { ...entry, role: 'assistant', author: { address: '@echo@agents.test', verified: true } },
  ])
  return { store: { ...store, readHistory: readHistory as never }, readHistory }
}

test('findNamedPeople() finds named people who have written with a proof, and nobody else', async () => {
  const { store } = openStore()
  const parts = text('@bob@peer.test @claimed@peer.test @fetched@peer.test @echo@agents.test @stranger@peer.test')
  expect(await findNamedPeople(turn(1), parts, { store })).toEqual(['@bob@peer.test'])
})

test.each<[string, { parts?: Part[]; isFirst?: true; mentions?: RunningAgent['mentions'] }]>([
  ['the text names nobody', { parts: text('hello') }],
  ['the message begins its conversation', { isFirst: true }],
  ['the configuration says "named"', { mentions: 'named' }],
  ['the configuration says "any"', { mentions: 'any' }],
])('findNamedPeople() reads no history when %s', async (_, { parts = text('@bob@peer.test'), mentions, isFirst }) => {
  const { store, readHistory } = openStore()
  expect(await findNamedPeople({ ...turn(1), isFirst }, parts, { store, mentions })).toEqual([])
  expect(readHistory).not.toHaveBeenCalled()
})
