import { createMemoryRecords } from '@postern/transcript'
import { expect, test } from 'vitest'
import { announceRemovedAgents } from './removed-agents.ts'

function openChannel(related: readonly string[] = []) {
  const records = createMemoryRecords()
  const told: string[] = []
  const faults = new Set<string>()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const announceRemoval = async (name: string) => {
    if (faults.delete(name)) throw new Error('the disk is full')
    told.push(name)
  }
  const listRelations = async () => related.map((agent, at) => ({ agent, number: at + 1 }))
  const begin = (...names: readonly string[]) =>
    announceRemovedAgents({
      store: { records, listRelations: listRelations as never },
      agents: { list: () => names.map(name => ({ name, displayName: name, description: '', version: '1.0.0' })) },
      channels: [{ actions: { announceRemoval } }, {}],
      system: { log },
    })
  return { told, faults, begin }
}

test('channels announce an agent that leaves the configuration once, and again when it came back meanwhile', async () => {
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

test('the next start tries again to announce a removal that has failed', async () => {
  const { told, faults, begin } = openChannel()
  await begin('one', 'two', 'three')
  faults.add('two')
  await begin('one')
  expect(told).toEqual(['three'])
  await begin('one')
  await begin('one')
  expect(told).toEqual(['three', 'two'])
})

test('a store of an earlier release tells of removed agents by the followers that they have', async () => {
  const { told, begin } = openChannel(['former', 'one', 'former'])
  await begin('one')
  await begin('one')
  expect(told).toEqual(['former'])
})
