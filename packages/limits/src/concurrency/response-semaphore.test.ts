import { EventEmitter } from 'node:events'
import { Rejection } from '@postern/message'
import { expect, test } from 'vitest'
import { createResponseSemaphore } from './response-semaphore.ts'

class Outgoing extends EventEmitter {
  closed = false
  close(): void {
    this.closed = true
    this.emit('close')
  }
}

const settle = () => new Promise(resolve => setImmediate(resolve))

function open(options = { maxRunning: 1, maxWaiting: 1 }) {
  const { run } = createResponseSemaphore(options)
  const startedNames: string[] = []
  const ask = (name: string, outgoing = new Outgoing(), owner = 'ann') => {
    const response = run(owner, { outgoing }, async () => {
      startedNames.push(name)
      return new Response(name)
    })
    return { outgoing, answered: response }
  }
  return { begun: startedNames, ask, pass: run }
}

test('createResponseSemaphore() starts the next request when the peer receives a response, not when the server makes it', async () => {
  const { begun: startedNames, ask } = open()
  const first = ask('first')
  ask('second')
  expect(await (await first.answered).text()).toBe('first')
  await settle()
  expect(startedNames).toEqual(['first'])
  first.outgoing.close()
  await settle()
  expect(startedNames).toEqual(['first', 'second'])
})

test('createResponseSemaphore() refuses only the request that exceeds the queue', async () => {
  const { begun: startedNames, ask } = open()
  ask('first')
  ask('second')
  const refusal = new Rejection('rate_limited', 'Cannot answer: too many requests at once', { retryAfter: 5 })
  await expect(ask('third').answered).rejects.toThrow(refusal)
  await ask('other', undefined, 'bob').answered
  expect(startedNames).toEqual(['first', 'other'])
})

test('createResponseSemaphore() frees the slot of a disconnected peer and of a failed request', async () => {
  const { begun: startedNames, ask, pass: run } = open()
  const closedOutgoing = new Outgoing()
  closedOutgoing.close()
  await ask('gone', closedOutgoing).answered
  const failing = run('ann', { outgoing: new Outgoing() }, () => Promise.reject(new Error('boom')))
  await expect(failing).rejects.toThrow('boom')
  await run('ann', undefined, async () => new Response())
  await ask('last').answered
  expect(startedNames).toEqual(['gone', 'last'])
})
