import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { a2aDescriptor } from '@postern/a2a'
import { createGuardedFetch } from '@postern/http'
import type { LogFields, System } from '@postern/message'
import type { Channel, Store, Worker, WorkerOptions } from '@postern/pipeline'
import { createBreaker, startWorker } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { afterEach, expect, test } from 'vitest'
import { slots } from '../../src/work/work.ts'

const minute = 60_000

/** A host that accepts every delivery, or accepts connections and never answers. */
interface Sink {
  readonly port: number
  /** The deliveries that the host accepted, in order. */
  readonly acceptedPaths: readonly string[]
  connections(): number
  isDown(): boolean
  goDown(): void
  comeBack(): void
  close(): Promise<void>
}

async function openSink(): Promise<Sink> {
  const acceptedPaths: string[] = []
  let connections = 0
  let isDown = false
  const server: Server = createServer((request, response: ServerResponse) => {
    if (isDown) return
    acceptedPaths.push(request.url ?? '')
    response.writeHead(202, { connection: 'close' }).end()
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    acceptedPaths,
    connections: () => connections,
    isDown: () => isDown,
    goDown() {
      isDown = true
    },
    comeBack() {
      isDown = false
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface DeliverySetup {
  readonly store: Store
  readonly logged: readonly (readonly [string, LogFields])[]
  advance(ms: number): void
  /** Queues `count` deliveries to a host, five to a thread. */
  queue(host: string, count: number, name?: string): Promise<void>
  /** Queues one delivery to each of these hosts, which a caller has named. */
  queueNamed(owner: string, hosts: readonly string[]): Promise<void>
  work(): void
}

const openResources: { close(): Promise<void> | void }[] = []
afterEach(async () => {
  for (const resource of openResources.splice(0).toReversed()) await resource.close()
})

interface DeliveryOptions {
  readonly giveUpAfterMs: number
  readonly timeoutMs: number
  readonly slots: Omit<WorkerOptions, 'holder'>
}

const fewSlots = { turnSlots: 1, turnsPerAgent: 1, deliverySlots: 64, deliveriesPerHost: 4, leaseMs: 60_000 }

/** Opens the real store, worker and guard. The channel posts the number of a delivery and nothing else. */
async function openDeliverySetup(
  sinks: Readonly<Record<string, Sink>>,
  { giveUpAfterMs = 48 * 60 * minute, timeoutMs = 150, slots = fewSlots }: Partial<DeliveryOptions> = {},
): Promise<DeliverySetup> {
  let clockShiftMs = 0
  const logged: (readonly [string, LogFields])[] = []
  const recordLog = (fields: LogFields, text: string) => void logged.push([text, fields])
  const ports = Object.entries(sinks).map(([host, { port }]) => [host, port] as const)
  const fetch = createGuardedFetch({ userAgent: 'Postern/0', loopback: Object.fromEntries(ports) })
  const system: System = {
    fetch,
    resolveDns: async () => [],
    submitMail: async () => ({ response: '' }),
    now: () => Date.now() + clockShiftMs,
    randomBytes: count => randomBytes(count),
    sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
    log: { debug: recordLog, info: recordLog, warn: recordLog, error: recordLog },
  }
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: ':memory:',
    now: system.now,
    log: system.log,
  })
  openResources.push({ close: () => fetch.close() }, store, ...Object.values(sinks))
  const channel: Partial<Channel> = {
    descriptor: a2aDescriptor,
    prepare: ({ to, id }) => ({
      wire: id,
      async transmit() {
        // Only hosts that never answer get a short timeout; the others may be slow on a busy machine.
        const isDown = sinks[new URL(to).host]?.isDown()
        await fetch(`${to}/${id}`, { method: 'POST', timeoutMs: isDown ? timeoutMs : 30_000 })
        return {}
      },
    }),
  }
  const retry = { initialDelayMs: 50, maxDelayMs: 1_000, giveUpAfterMs }
  const sendDeps = { store, system, retry, breaker: createBreaker(system), channels: [channel as Channel] }

  return {
    store,
    logged,
    advance(ms) {
      clockShiftMs += ms
    },
    async queue(host, count, name = '') {
      for (let index = 0; index < count; index += 1) {
        const thread = Math.floor(index / 5)
        const message = { thread_source: `${host} ${name}${thread}` }
        const deliveries = [{ to: `https://${host}/${name}${thread}`, target: null }]
        await store.admit(sketchIntake(`${host} ${name}${index}`, { message, deliveries, disposition: 'keep' }), 'c')
      }
    },
    async queueNamed(owner, hosts) {
      for (const host of hosts) {
        const message = { thread_source: `${owner} ${host}` }
        const deliveries = [{ to: `https://${host}/0`, target: { watch: 'w', owner } }]
        await store.admit(sketchIntake(`${owner} ${host}`, { message, deliveries, disposition: 'keep' }), 'c')
      }
    },
    work() {
      const options = { holder: 'test', ...slots }
      const worker: Worker = startWorker(
        { ...sendDeps, findAgent: () => undefined } as never,
        sendDeps,
        system,
        options,
      )
      openResources.push({ close: () => worker.stop(500) })
    },
  }
}

async function countOf({ store }: DeliverySetup, state: 'sent' | 'later' | 'dead', to: string): Promise<number> {
  const list = await store.listDeliveries({ limit: 500 })
  return list.filter(delivery => delivery.state === state && delivery.to.startsWith(to)).length
}

const pollOptions = { timeout: 30_000, interval: 20 }

test('a dead host gets five connections and one per retry, and after its return everything in order', async () => {
  const [dead, healthy] = [await openSink(), await openSink()]
  const setup = await openDeliverySetup({ 'dead.test': dead, 'healthy.test': healthy })
  dead.goDown()
  await setup.queue('dead.test', 50)
  await setup.queue('healthy.test', 50)
  setup.work()
  await expect.poll(() => healthy.acceptedPaths.length, pollOptions).toBe(50)
  expect(dead.connections()).toBeLessThanOrEqual(5)
  // Each thread has five deliveries in order. The first one waits for the host, and the other four wait for the first one.
  await expect.poll(() => countOf(setup, 'later', 'https://dead.test/'), pollOptions).toBe(10)
  expect(dead.connections()).toBe(5)

  setup.advance(31 * minute)
  await expect.poll(() => listBreakerOpenings(setup), pollOptions).toEqual([1, 2])
  expect(dead.connections()).toBe(6)

  dead.comeBack()
  setup.advance(61 * minute)
  await expect.poll(() => dead.acceptedPaths.length, pollOptions).toBe(50)
  await expect.poll(() => countOf(setup, 'sent', 'https://dead.test/'), pollOptions).toBe(50)
  expect(setup.logged.filter(([text]) => text === 'host answers again')).toEqual([
    ['host answers again', { host: 'dead.test' }],
  ])
  for (let thread = 0; thread < 10; thread += 1) {
    const ids = dead.acceptedPaths.filter(url => url.startsWith(`/${thread}/`)).map(url => Number(url.split('/')[2]))
    expect(ids).toHaveLength(5)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  }
})

function listBreakerOpenings({ logged }: DeliverySetup): readonly unknown[] {
  return logged.filter(([text]) => text === 'host left alone: it does not answer').map(([, fields]) => fields.opened)
}

test('a delivery that waits for a dead host fails with a reason when its time is over', async () => {
  const dead = await openSink()
  const setup = await openDeliverySetup({ 'dead.test': dead }, { giveUpAfterMs: 20 * minute })
  dead.goDown()
  await setup.queue('dead.test', 50)
  setup.work()
  await expect.poll(() => listBreakerOpenings(setup), pollOptions).toEqual([1])
  // The retry time of all of them begins when the first one is tried or postponed.
  await expect.poll(() => countOf(setup, 'later', 'https://dead.test/'), pollOptions).toBe(10)
  setup.advance(21 * minute)
  await expect.poll(() => countOf(setup, 'dead', 'https://dead.test/'), pollOptions).toBe(50)
  const [delivery] = await setup.store.listDeliveries({ limit: 1 })
  expect(delivery?.last_error).toContain('its host does not answer and is left alone for a while')
  expect(dead.connections()).toBe(5)
})

test('fifty hosts that hang do not delay an answer to another host', async () => {
  const [dead, healthy] = [await openSink(), await openSink()]
  const hosts = Array.from({ length: 50 }, (_, index) => `h${index}.evil.test`)
  const sinks = { ...Object.fromEntries(hosts.map(host => [host, dead])), 'healthy.test': healthy }
  const timeoutMs = 25_000
  const setup = await openDeliverySetup(sinks, { timeoutMs, slots })
  dead.goDown()
  for (let round = 0; round < slots.deliveriesPerHost; round += 1) {
    for (const host of hosts) await setup.queue(`${host}`, 1, `${round}`)
  }
  await setup.queue('healthy.test', 1)
  setup.work()
  await expect.poll(() => healthy.acceptedPaths.length, pollOptions).toBe(1)
  // No delivery to a hanging host has been postponed yet.
  expect(await countOf(setup, 'later', 'https://h')).toBe(0)
})

test('the worker delivers to twenty healthy hosts while more hosts hang than there are slots', async () => {
  const [dead, healthy] = [await openSink(), await openSink()]
  const hangingHosts = Array.from({ length: 160 }, (_, index) => `h${index}.evil.test`)
  const healthyHosts = Array.from({ length: 20 }, (_, index) => `l${index}.good.test`)
  const hostSinks = [
    ...hangingHosts.map(host => [host, dead] as const),
    ...healthyHosts.map(host => [host, healthy] as const),
  ]
  const setup = await openDeliverySetup(Object.fromEntries(hostSinks), { timeoutMs: 60_000 })
  dead.goDown()
  for (const [host] of hostSinks) await setup.queue(host, 1)
  setup.work()
  await expect.poll(() => healthy.acceptedPaths.length, pollOptions).toBe(20)
  // No delivery to a hanging host has been postponed yet.
  expect(await countOf(setup, 'later', 'https://h')).toBe(0)
})

test('callers who name hanging hosts get four delivery slots each, and a quarter of all slots together', async () => {
  const healthy = await openSink()
  // The network layer opens sixteen connections to a port.
  const dead = await Promise.all(Array.from({ length: 20 }, openSink))
  const countConnections = () => dead.reduce((sum, sink) => sum + sink.connections(), 0)
  const callers = Array.from({ length: 150 }, (_, index) => `caller ${index}`)
  const hostsOf = (name: string) => Array.from({ length: 4 }, (_, index) => `${name.replace(' ', '-')}-${index}.test`)
  const manyHosts = Array.from({ length: 40 }, (_, index) => `many-${index}.test`)
  const hosts = [...manyHosts, ...callers.flatMap(hostsOf)].map((host, index) => [
    host,
    dead[index % dead.length] as Sink,
  ])
  const sinks = { ...Object.fromEntries(hosts), 'healthy.test': healthy }
  const setup = await openDeliverySetup(sinks, { timeoutMs: 25_000, slots })
  for (const sink of dead) sink.goDown()
  await setup.queueNamed('one who names many', manyHosts)
  setup.work()
  await setup.queue('healthy.test', 20)
  await expect.poll(() => healthy.acceptedPaths.length, pollOptions).toBe(20)
  expect(countConnections()).toBe(4)
  for (const caller of callers) await setup.queueNamed(caller, hostsOf(caller))
  await setup.queue('healthy.test', 20, 'again-')
  await expect.poll(() => healthy.acceptedPaths.length, pollOptions).toBe(40)
  await expect.poll(countConnections, pollOptions).toBeGreaterThan(100)
  await delay(1_000)
  expect(countConnections()).toBeLessThanOrEqual(slots.deliverySlots / 4)
}, 60_000)
