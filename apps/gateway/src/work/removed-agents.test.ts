import { createMemoryRecords } from '@postern/transcript'
import { expect, test } from 'vitest'
import { announceRemovedAgents } from './removed-agents.ts'

function openChannel(related: readonly string[] = []) {
  const records = createMemoryRecords()
  const announcements: string[] = []
  const faults = new Set<string>()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const announceRemoval = async (name: string) => {
    if (faults.delete(name)) throw new Error('the disk is full')
    announcements.push(name)
  }
  const listRelations = async () => related.map((agent, at) => ({ agent, number: at + 1 }))
  const begin = (...names: readonly string[]) =>
    announceRemovedAgents({
      store: { records, listRelations: listRelations as never },
      agents: { list: () => names.map(name => ({ name, displayName: name, description: '', version: '1.0.0' })) },
      channels: [{ actions: { announceRemoval } }, {}],
      system: { log },
    })
  return { told: announcements, faults, begin }
}

test('channels announce the removal of an agent once, and again after it came back', async () => {
  const { told, begin } = openChannel()
  await begin('one', 'two')
  await begin('one')
  await begin('one')
  expect(told).toEqual(['two'])
  await begin('one', 'two')
  await begin('two')
  await begin('two')
  expect(told).toEqual(['two', 'one'])
})

test('the next start retries a failed announcement of a removal', async () => {
  const { told, faults, begin } = openChannel()
  await begin('one', 'two', 'three')
  faults.add('two')
  await begin('one')
  expect(told).toEqual(['three'])
  await begin('one')
  await begin('one')
  expect(told).toEqual(['three', 'two'])
})

test('a store of an earlier release finds removed agents by their followers', async () => {
  const { told, begin } = openChannel(['former', 'one', 'former'])
  await begin('one')
  await begin('one')
  expect(told).toEqual(['former'])
})
