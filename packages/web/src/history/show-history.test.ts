import { createMemoryTranscript } from '@postern/transcript'
import { expect, test, vi } from 'vitest'
import { findWebThread } from '../resolve.ts'

const platform = { now: () => 0, randomBytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)) }
const place = { owner: 'web:["https://id.test","ann"]', agent: 'desk', threadId: 'thread-1' }

function openTranscript(hasConversation: boolean) {
  const memory = createMemoryTranscript(platform)
  const openThread = vi.fn(memory.openThread)
  const bindStore = vi.fn(async () => hasConversation)
  const rest = { readUsage: vi.fn(), checkQuota: vi.fn(), hasConversation: async () => hasConversation }
  return { ...memory, ...rest, openThread, bindStore }
}

test('findWebThread() writes nothing for an unknown thread', async () => {
  const transcript = openTranscript(false)
  expect(await findWebThread(place, { transcript })).toBeUndefined()
  expect(transcript.openThread).not.toHaveBeenCalled()
  expect(transcript.bindStore).not.toHaveBeenCalled()
})

test('findWebThread() binds the store’s conversation as soon as there is one', async () => {
  const transcript = openTranscript(true)
  const found = await findWebThread(place, { transcript })
  expect(found).toMatchObject({ owner: place.owner })
  expect(transcript.bindStore).toHaveBeenCalledWith(found, {
    agent: 'desk',
    via: 'web',
    scope: place.owner,
    key: 'thread-1',
  })
})
