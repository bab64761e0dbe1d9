import { expect, test } from 'vitest'
import type { OperatorClient } from '../../client/client.ts'
import { CommandError } from '../../client/client.ts'
import { followMessages } from './follow.ts'

const output = { json: false, print: () => undefined }

/** Opens a gateway that streams these lines and no longer answers lists. */
function openEndingClient(lines: () => AsyncGenerator<string>): OperatorClient {
  return {
    isRunning: true,
    isSimulating: false,
    call: () => Promise.reject(new CommandError('the gateway does not answer')),
    readLines: lines,
    get: () => Promise.reject(new Error('not asked')),
    close: async () => undefined,
  }
}

test('followMessages() reports the end of the gateway if a list fails while the gateway stops', async () => {
  const client = openEndingClient(async function* () {
    yield 'event: turn'
    await new Promise(setImmediate)
  })
  await expect(followMessages(client, output, {})).rejects.toThrow('the gateway has ended')
})

test('followMessages() fails with the error of a list while the gateway runs', async () => {
  const client = openEndingClient(async function* () {
    for (;;) {
      yield 'event: turn'
      await new Promise(setImmediate)
    }
  })
  await expect(followMessages(client, output, {})).rejects.toThrow('the gateway does not answer')
})
