import type { ThreadAlias } from '@postern/transcript'
import { createMemoryTranscript } from '@postern/transcript'
import { expect, test, vi } from 'vitest'
import { findWebThread } from '../threads/web-threads.ts'

const system = { now: () => 0, randomBytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)) }
const conversation = { owner: 'web:["https://id.test","ann"]', agent: 'desk', threadId: 'thread-1' }

function openTranscript({ hasConversation }: { readonly hasConversation: boolean }) {
  const memory = createMemoryTranscript(system)
  const openBound = vi.fn((owner: string, alias: ThreadAlias, _: object) => memory.openThread(owner, alias))
  const unusedCalls = { readUsage: vi.fn(), checkQuota: vi.fn(), bindStore: vi.fn() }
  return { ...memory, ...unusedCalls, findBinding: async () => ({ thread: undefined, hasConversation }), openBound }
}

test('findWebThread() writes nothing for an unknown thread', async () => {
  const transcript = openTranscript({ hasConversation: false })
  expect(await findWebThread(conversation, { transcript })).toBeUndefined()
  expect(transcript.openBound).not.toHaveBeenCalled()
})

test('findWebThread() opens a thread with the store’s conversation once it exists', async () => {
  const transcript = openTranscript({ hasConversation: true })
  const thread = await findWebThread(conversation, { transcript })
  expect(thread).toMatchObject({ owner: conversation.owner })
  expect(transcript.openBound).toHaveBeenCalledWith(
    conversation.owner,
    { transport: 'web', key: '["desk","thread-1"]' },
    { agent: 'desk', via: 'web', scope: conversation.owner, key: 'thread-1' },
  )
})
