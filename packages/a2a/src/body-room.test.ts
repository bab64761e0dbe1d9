import { expect, test } from 'vitest'
import type { BodySender } from './body-room.ts'
import { createBodyRoom } from './body-room.ts'
import { createLargeAnswers } from './large-answers.ts'

const kib = 1024
const most = 4 * kib * kib
const refusal = 'Cannot take request: too many large ones are on their way'
const ada: BodySender = { caller: { owner: 'ada', isAnonymous: false }, from: '192.0.2.1' }
const nobodyAt = (from: string): BodySender => ({ caller: { owner: 'anybody', isAnonymous: true }, from })

function openRoom() {
  const bounds = { largeFrom: 64 * kib, perCaller: 600 * kib, all: 10_000 * kib }
  return createBodyRoom(createLargeAnswers(bounds, refusal))
}

/** A body without declared length: what was asked for comes, the rest only when `go` is called. */
function pour(kibs: number) {
  let go = () => {}
  const rest = new Promise<void>(resolve => {
    go = resolve
  })
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent >= kibs) await rest
      if (sent >= kibs) return controller.close()
      controller.enqueue(new Uint8Array(32 * kib))
      sent += 32
    },
  })
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' }
  return { request: new Request('https://agents.test/a2a', init), go: () => go(), isSent: () => sent >= kibs }
}

test('what comes without declared length is counted as it comes, and its room is given back', async () => {
  const take = openRoom()
  const waiting = pour(400)
  const read = take(waiting.request, most, ada)
  await expect.poll(waiting.isSent).toBe(true)
  await expect(take(pour(400).request, most, ada)).rejects.toMatchObject({ code: 'rate_limited', message: refusal })
  // Small ones need no room, and others have their own.
  const small = pour(32)
  small.go()
  expect((await take(small.request, most, ada)).length).toBe(32 * kib)
  waiting.go()
  expect((await read).length).toBe(416 * kib)
  const next = pour(400)
  next.go()
  expect((await take(next.request, most, ada)).length).toBe(416 * kib)
})

test('the network tells apart who proves nothing', async () => {
  const take = openRoom()
  const waiting = pour(400)
  const read = take(waiting.request, most, nobodyAt('2001:db8::1'))
  await expect.poll(waiting.isSent).toBe(true)
  await expect(take(pour(400).request, most, nobodyAt('2001:db8::2'))).rejects.toThrow(refusal)
  const other = pour(400)
  other.go()
  expect((await take(other.request, most, nobodyAt('192.0.2.1'))).length).toBe(416 * kib)
  waiting.go()
  await read
})

test('a body that is cut off gives its room back', async () => {
  const take = openRoom()
  const broken = () => {
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1
        if (sent > 14) controller.error(new Error('gone'))
        else controller.enqueue(new Uint8Array(32 * kib))
      },
    })
    const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' }
    return new Request('https://agents.test/a2a', init)
  }
  for (let time = 0; time < 3; time += 1) {
    await expect(take(broken(), most, ada)).rejects.toMatchObject({ code: 'malformed' })
  }
})
