import { expect, test } from 'vitest'
import type { EarlierTree } from '../harness/earlier-tree.ts'
import { pairWithEarlier } from './pairs.ts'

const [presentEntry, earlierEntry, agentFile] = [
  'file:///now/gateway.ts',
  'file:///then/gateway.ts',
  'file:///now/agent.ts',
].map(text => new URL(text)) as [URL, URL, URL]
const earlier: EarlierTree = {
  commit: 'abc123',
  findEntry: file => (file.href === presentEntry.href ? earlierEntry : undefined),
  remove: async () => undefined,
}

test('pairWithEarlier() lists the server of the earlier commit after the present one', () => {
  const present = { name: 'Postern', note: 'durable', entry: presentEntry, setup: { tree: {} } }
  expect(pairWithEarlier([present], earlier)).toEqual([
    present,
    {
      name: 'Postern, abc123',
      note: 'the same at abc123',
      entry: earlierEntry,
      setup: { tree: {} },
      referenceName: 'Postern',
      aim: { atLeast: 0.97 },
    },
  ])
})

test('pairWithEarlier() omits servers that the earlier commit lacks, or cannot run without a missing file', () => {
  const unknownContender = { name: 'new case', note: '', entry: agentFile }
  const incompleteContender = { name: 'new agent', note: '', entry: presentEntry, requiredFiles: [agentFile] }
  expect(pairWithEarlier([unknownContender, incompleteContender], earlier)).toEqual([])
})
