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

function open(options = { width: 1, queue: 1 }) {
  const { pass } = createResponseSemaphore(options)
  const begun: string[] = []
  const ask = (name: string, outgoing = new Outgoing(), owner = 'ann') => {
    const answered = pass(owner, { outgoing }, async () => {
      begun.push(name)
      return new Response(name)
    })
    return { outgoing, answered }
  }
  return { begun, ask, pass }
}

test('createResponseSemaphore() starts the next request when the peer receives a response, not when the server makes it', async () => {
  const { begun, ask } = open()
  const first = ask('first')
  ask('second')
  expect(await (await first.answered).text()).toBe('first')
  await settle()
  expect(begun).toEqual(['first'])
  first.outgoing.close()
  await settle()
  expect(begun).toEqual(['first', 'second'])
})

test('createResponseSemaphore() refuses a request when too many wait, and no other one', async () => {
  const { begun, ask } = open()
  ask('first')
  ask('second')
  const refusal = new Rejection('rate_limited', 'Cannot answer: too much is asked for at once', { retryAfter: 5 })
  await expect(ask('third').answered).rejects.toThrow(refusal)
  await ask('other', undefined, 'bob').answered
  expect(begun).toEqual(['first', 'other'])
})

test('createResponseSemaphore() frees the slot of a peer that is gone, and of a failed request', async () => {
  const { begun, ask, pass } = open()
  const gone = new Outgoing()
  gone.close()
  await ask('gone', gone).answered
  const failing = pass('ann', { outgoing: new Outgoing() }, () => Promise.reject(new Error('boom')))
  await expect(failing).rejects.toThrow('boom')
  await pass('ann', undefined, async () => new Response())
  await ask('last').answered
  expect(begun).toEqual(['gone', 'last'])
})
