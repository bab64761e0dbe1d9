import { setImmediate } from 'node:timers/promises'
import { createBodyBudget } from '@postern/limits'
import type { BodyBudget, System } from '@postern/message'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { openSmtpClient } from '../setup/smtp-client.ts'

const refusal = 'Cannot take request: too many large ones are on their way'
const kib = 1024
let count = 0

/** Creates a `sleep` that lasts until the test calls `end` with the same number of ms. */
function createWaits() {
  const waits = new Map<number, () => void>()
  const sleep: System['sleep'] = (ms, signal) =>
    new Promise(resolve => {
      waits.set(ms, resolve)
      signal?.addEventListener('abort', () => resolve())
    })
  return { sleep, end: (ms: number) => waits.get(ms)?.() }
}

async function openMeteredGateway({
  total = 64 * kib * kib,
  protocol = 'smtp' as 'lmtp' | 'smtp',
  sleep = undefined as System['sleep'] | undefined,
} = {}) {
  const bodies = createBodyBudget({ maxBytes: total, refusal })
  const memory = { reservedBytes: 0, peakBytes: 0 }
  const limitedBodies: BodyBudget = {
    reserve(owner) {
      const hold = bodies.forChannel('email').reserve(owner)
      let ownBytes = 0
      const count = (bytes: number) => {
        ownBytes += bytes
        memory.reservedBytes += bytes
        memory.peakBytes = Math.max(memory.peakBytes, memory.reservedBytes)
      }
      return {
        add(bytes) {
          hold.add(bytes)
          count(bytes)
        },
        acquire: (bytes, signal) => hold.acquire(bytes, signal).then(() => count(bytes)),
        release() {
          hold.release()
          count(-ownBytes)
        },
      }
    },
  }
  const gateway = await openMailGateway({ config: { listen: { port: 0, protocol } }, bodies: limitedBodies, sleep })
  onTestFinished(() => gateway.close())
  /** Opens a client that has just begun DATA. */
  const beginData = async () => {
    const client = await openSmtpClient(gateway.listening?.port ?? 0)
    onTestFinished(() => client.end())
    await client.readReply()
    await client.sendLine(`${protocol === 'lmtp' ? 'LHLO' : 'EHLO'} mx.nodmarc.test`)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    expect(await client.sendLine('DATA')).toMatch(/^354 /)
    return client
  }
  return { gateway, bodies, counted: memory, begin: beginData }
}

/** Writes a mail of at least this many octets, without the final dot. */
function composeMail(octets: number): string {
  count += 1
  const head = `From: Bob <bob@nodmarc.test>\r\nTo: echo@${mailDomain}\r\nSubject: Hi\r\nMessage-ID: <m${count}@nodmarc.test>\r\n\r\n`
  return head + `${'x'.repeat(70)}\r\n`.repeat(Math.ceil(octets / 72))
}

describe('mails that need more memory than is free', () => {
  test('arrive one after the other if one server sends two of 20 MB at once', async () => {
    const { begin } = await openMeteredGateway()
    const clients = [await begin(), await begin()]
    const replies = clients.map(client => client.sendLine(`${composeMail(20 * 1000 * 1000)}.`))
    expect(await Promise.all(replies)).toEqual(['250 2.6.0 accepted', '250 2.6.0 accepted'])
  }, 60_000)

  test('wait for memory, while small mails and other channels continue', async () => {
    const { begin, bodies, counted } = await openMeteredGateway({ total: 4_096 * kib })
    const [firstClient, secondClient, smallClient] = [await begin(), await begin(), await begin()]
    firstClient.sendText(composeMail(1_500 * kib))
    await vi.waitFor(() => expect(counted.reservedBytes).toBeGreaterThan(1_500 * kib))
    const pendingReply = secondClient.sendLine(`${composeMail(1_000 * kib)}.`)
    expect(await smallClient.sendLine(`${composeMail(10 * kib)}.`)).toBe('250 2.6.0 accepted')
    const otherReservation = bodies.forChannel('a2a').reserve('127.0.0.1')
    otherReservation.add(800 * kib)
    otherReservation.release()
    expect(bodies.isFull()).toBe(false)
    expect(await firstClient.sendLine('.')).toBe('250 2.6.0 accepted')
    expect(await pendingReply).toBe('250 2.6.0 accepted')
  })

  test.each(['smtp', 'lmtp'] as const)(
    'lose their connection by %s if they wait too long, and free their memory',
    async protocol => {
      const { sleep, end } = createWaits()
      const { begin, counted, gateway } = await openMeteredGateway({ total: 4_096 * kib, protocol, sleep })
      const firstClient = await begin()
      firstClient.sendText(composeMail(1_500 * kib))
      await vi.waitFor(() => expect(counted.reservedBytes).toBeGreaterThan(1_500 * kib))
      const secondClient = await begin()
      secondClient.sendText(composeMail(1_000 * kib))
      const reply = secondClient.readReply()
      await vi.waitFor(() => {
        end(120_000)
        return expect(gateway.store.listRefusals({ limit: 1 })).resolves.toMatchObject([
          { code: 'rate_limited', status: 421 },
        ])
      })
      expect(await reply).toBe(`421 4.4.2 ${refusal}; try again in 5 s`)
      await secondClient.closed
      firstClient.end()
      await vi.waitFor(() => expect(counted.reservedBytes).toBe(0))
    },
  )

  test('free their memory before their end if they are too large', async () => {
    const { begin, counted } = await openMeteredGateway()
    const client = await begin()
    client.sendText(composeMail(26 * kib * kib))
    await vi.waitFor(() => expect([counted.peakBytes > 24 * kib * kib, counted.reservedBytes]).toEqual([true, 0]))
    expect(await client.sendLine('.')).toBe('552 5.3.4 Cannot accept mail: larger than 26214400 bytes')
  })
})

test('the gateway frees the memory of a client that disconnects, without reporting an error', async () => {
  const { begin, counted, gateway } = await openMeteredGateway()
  const client = await begin()
  client.sendText(composeMail(70 * kib))
  await vi.waitFor(() => expect(counted.reservedBytes).toBeGreaterThan(70 * kib))
  client.end()
  await vi.waitFor(async () =>
    expect(await gateway.store.listRefusals({ limit: 1 })).toMatchObject([
      { code: 'malformed', reason: 'Cannot accept mail: the connection was cut' },
    ]),
  )
  expect(counted.reservedBytes).toBe(0)
})

describe('a slow client (EM-69)', () => {
  const tooSlow = '421 4.4.2 Cannot accept mail: slower than 1 KB a second for a minute'

  test.each(['smtp', 'lmtp'] as const)(
    'loses its %s connection after a minute with less than 60 KB',
    async protocol => {
      const { sleep, end } = createWaits()
      const { begin, counted, gateway } = await openMeteredGateway({ protocol, sleep })
      const client = await begin()
      client.sendText(composeMail(50 * kib))
      await vi.waitFor(() => expect(counted.reservedBytes).toBeGreaterThan(50 * kib))
      end(60_000)
      expect(await client.readReply()).toBe(tooSlow)
      await client.closed
      expect(await gateway.store.listRefusals({ limit: 1 })).toMatchObject([{ code: 'unavailable', status: 421 }])
      expect((await gateway.store.count()).messages.received).toBe(0)
    },
  )

  test('must be fast enough in every minute', async () => {
    const { sleep, end } = createWaits()
    const { begin, counted } = await openMeteredGateway({ sleep })
    const client = await begin()
    client.sendText(composeMail(70 * kib))
    await vi.waitFor(() => expect(counted.reservedBytes).toBeGreaterThan(70 * kib))
    end(60_000)
    await setImmediate()
    end(60_000)
    expect(await client.readReply()).toBe(tooSlow)
  })

  test('may take its time if it is fast enough', async () => {
    const { sleep, end } = createWaits()
    const { begin, counted } = await openMeteredGateway({ sleep })
    const client = await begin()
    for (const total of [70, 140]) {
      client.sendText(composeMail(70 * kib))
      await vi.waitFor(() => expect(counted.reservedBytes).toBeGreaterThan(total * kib))
      end(60_000)
      await setImmediate()
    }
    expect(await client.sendLine('.')).toBe('250 2.6.0 accepted')
  })

  test('has a time limit for the whole mail', async () => {
    const { sleep, end } = createWaits()
    const { begin, counted } = await openMeteredGateway({ sleep })
    const client = await begin()
    client.sendText(composeMail(70 * kib))
    await vi.waitFor(() => expect(counted.reservedBytes).toBeGreaterThan(70 * kib))
    end(900_000)
    expect(await client.readReply()).toBe('421 4.4.2 Cannot accept mail: it came too slowly')
    await client.closed
  })
})
