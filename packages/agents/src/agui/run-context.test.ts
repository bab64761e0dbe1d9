import type { NormalizedMessage } from '@postern/message'
import { expect, test, vi } from 'vitest'
import { openAgui } from '../../test/agui-agent.ts'
import { runOf } from '../../test/agui-server.ts'
import { testMessage } from '../../test/gateway.ts'

test('a run gets a mail’s subject and the person’s state, which an event of the server can set', async () => {
  const { ask, server } = await openAgui([
    runOf({ type: 'CUSTOM', name: 'other', value: 0 }, { type: 'CUSTOM', name: 'person_state', value: { seen: 2 } }),
  ])
  const parts = [
    { kind: 'text', mime: 'text/plain', content: 'three' },
    { kind: 'email', subject: 'Hello' },
  ] as unknown as NormalizedMessage['parts']
  const set = vi.fn()
  const person = { id: 'p1', addresses: [], state: { get: async () => ({ seen: 1 }), set } }
  await ask(testMessage('three', { parts }), { person })
  expect(JSON.parse(server.inputs()[0]?.context[0]?.value ?? '')).toMatchObject({
    subject: 'Hello',
    person: { id: 'p1', state: { seen: 1 } },
    is_public: false,
  })
  expect(set).toHaveBeenCalledExactlyOnceWith({ seen: 2 })
})
