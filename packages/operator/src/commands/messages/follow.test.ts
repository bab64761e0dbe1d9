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

test('a list that fails while the gateway stops leaves the error to the stop', async () => {
  const client = openEndingClient(async function* () {
    yield 'event: turn'
    await new Promise(setImmediate)
  })
  await expect(followMessages(client, output, {})).rejects.toThrow('the gateway has ended')
})

test('a list that fails while the gateway runs ends the command with its reason', async () => {
  const client = openEndingClient(async function* () {
    for (;;) {
      yield 'event: turn'
      await new Promise(setImmediate)
    }
  })
  await expect(followMessages(client, output, {})).rejects.toThrow('the gateway does not answer')
})
