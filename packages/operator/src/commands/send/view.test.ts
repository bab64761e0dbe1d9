import { expect, test } from 'vitest'
import type { OperatorClient } from '../../client/client.ts'
import { CommandError } from '../../client/client.ts'
import { sendSimulated } from './view.ts'

/** Opens a gateway that answers `send` with these lines and then breaks off. */
function openBreakingClient(lines: readonly object[]): OperatorClient {
  return {
    isRunning: true,
    isSimulating: true,
    call: () => Promise.reject(new Error('not asked')),
    async *readLines() {
      for (const line of lines) yield JSON.stringify(line)
      throw new CommandError('the gateway ended the connection before it stored the message')
    },
    get: () => Promise.reject(new Error('not asked')),
    close: async () => undefined,
  }
}

const send = (lines: readonly object[]) => {
  const output = { openClient: async () => openBreakingClient(lines), json: false, print: () => undefined }
  return sendSimulated(output, { via: 'email', to: 'echo', text: 'hello' }, name => name)
}

test('send reports the id of the stored message if the gateway stops while the command waits', async () => {
  const stored = { id: 'm1@alice.test', thread: 'm1@alice.test', status: 'working', wait_seconds: 65 }
  await expect(send([stored, stored])).rejects.toThrow(
    'the gateway ended the connection. The message is stored. See it with: npx postern show "m1@alice.test"',
  )
})

test('send fails with the error of the gateway if the gateway stops before it stores the message', async () => {
  await expect(send([])).rejects.toThrow('the gateway ended the connection before it stored the message')
})
