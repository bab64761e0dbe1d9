import { expect, test } from 'vitest'
import type { EarlierTree } from '../harness/earlier-tree.ts'
import { pairWithEarlierCommit } from './pairs.ts'

const [currentEntry, earlierEntry, agentFile] = [
  'file:///now/gateway.ts',
  'file:///then/gateway.ts',
  'file:///now/agent.ts',
].map(text => new URL(text)) as [URL, URL, URL]
const earlierTree: EarlierTree = {
  commit: 'abc123',
  findEntry: file => (file.href === currentEntry.href ? earlierEntry : undefined),
  remove: async () => undefined,
}

test('pairWithEarlierCommit() lists the server of the earlier commit after the current one', () => {
  const currentContender = { name: 'Postern', note: 'durable', entry: currentEntry, setup: { tree: {} } }
  expect(pairWithEarlierCommit([currentContender], earlierTree)).toEqual([
    currentContender,
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

test('pairWithEarlierCommit() omits a server whose entry or required file the earlier commit lacks', () => {
  const unknownContender = { name: 'new case', note: '', entry: agentFile }
  const incompleteContender = { name: 'new agent', note: '', entry: currentEntry, requiredFiles: [agentFile] }
  expect(pairWithEarlierCommit([unknownContender, incompleteContender], earlierTree)).toEqual([])
})
