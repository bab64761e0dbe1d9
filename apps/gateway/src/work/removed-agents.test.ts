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
  const listRelations = async () => related.map((agent, index) => ({ agent, number: index + 1 }))
  const startGateway = (...names: readonly string[]) =>
    announceRemovedAgents({
      store: { records, listRelations: listRelations as never },
      agents: { list: () => names.map(name => ({ name, displayName: name, description: '', version: '1.0.0' })) },
      channels: [{ actions: { announceRemoval } }, {}],
      system: { log },
    })
  return { announcements, faults, startGateway }
}

test('channels announce the removal of an agent once, and again after it came back', async () => {
  const { announcements, startGateway } = openChannel()
  await startGateway('one', 'two')
  await startGateway('one')
  await startGateway('one')
  expect(announcements).toEqual(['two'])
  await startGateway('one', 'two')
  await startGateway('two')
  await startGateway('two')
  expect(announcements).toEqual(['two', 'one'])
})

test('the next start retries a failed announcement of a removal', async () => {
  const { announcements, faults, startGateway } = openChannel()
  await startGateway('one', 'two', 'three')
  faults.add('two')
  await startGateway('one')
  expect(announcements).toEqual(['three'])
  await startGateway('one')
  await startGateway('one')
  expect(announcements).toEqual(['three', 'two'])
})

test('a store of an earlier release finds removed agents by their followers', async () => {
  const { announcements, startGateway } = openChannel(['former', 'one', 'former'])
  await startGateway('one')
  await startGateway('one')
  expect(announcements).toEqual(['former'])
})
