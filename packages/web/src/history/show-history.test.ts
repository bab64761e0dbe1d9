import { createMemoryTranscript } from '@postern/transcript'
import { expect, test, vi } from 'vitest'
import { findWebThread } from '../threads/web-threads.ts'

const system = { now: () => 0, randomBytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)) }
const conversation = { owner: 'web:["https://id.test","ann"]', agent: 'desk', threadId: 'thread-1' }

function openTranscript({ hasConversation }: { readonly hasConversation: boolean }) {
  const memory = createMemoryTranscript(system)
  const openThread = vi.fn(memory.openThread)
  const bindStore = vi.fn(async () => hasConversation)
  const unusedCalls = { readUsage: vi.fn(), checkQuota: vi.fn(), hasConversation: async () => hasConversation }
  return { ...memory, ...unusedCalls, openThread, bindStore }
}

test('findWebThread() writes nothing for an unknown thread', async () => {
  const transcript = openTranscript({ hasConversation: false })
  expect(await findWebThread(conversation, { transcript })).toBeUndefined()
  expect(transcript.openThread).not.toHaveBeenCalled()
  expect(transcript.bindStore).not.toHaveBeenCalled()
})

test('findWebThread() binds the store’s conversation once it exists', async () => {
  const transcript = openTranscript({ hasConversation: true })
  const thread = await findWebThread(conversation, { transcript })
  expect(thread).toMatchObject({ owner: conversation.owner })
  expect(transcript.bindStore).toHaveBeenCalledWith(thread, {
    agent: 'desk',
    via: 'web',
    scope: conversation.owner,
    key: 'thread-1',
  })
})
