import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Intake } from '@postern/core'
import { isoTime } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import { openPostgresStore, openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster, findPostgres, password } from '@postern/testing/postgres-cluster'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { median } from '../harness/median.ts'
import { freeThisThread } from '../servers/pinning.ts'

const title = 'PostgreSQL'
const log = { debug() {}, info() {}, warn() {}, error() {} }
/** Messages that are on their way at once. */
const atOnce = 64

interface Contender {
  readonly name: string
  readonly note: string
  /** By its name, whom it is measured against. */
  readonly against?: string
  readonly stores: readonly GatewayStore[]
  /** Messages a second, one figure a round. */
  readonly rates: number[]
}

/** Messages that are admitted, answered and delivered at the store's port, by engine; all of it durable, in one run by turns. */
export async function probePostgres({ rounds, quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const programs = findPostgres()
  if (!programs) throw new Error('no PostgreSQL server is installed here')
  // A server and two desks have four threads at work.
  freeThisThread()
  const directory = mkdtempSync(join(tmpdir(), 'postern-bench-'))
  const cluster = await createCluster({ programs })
  await cluster.start()
  const contenders = await openContenders(directory, cluster)
  try {
    const count = quick ? 500 : 2_000
    for (let round = 0; round <= rounds; round += 1) {
      progress(`postgres: round ${round} of ${rounds}`)
      for (const { stores, rates } of contenders) {
        const rate = await measure(stores, count, `r${round}`)
        if (round > 0) rates.push(rate)
      }
    }
    return toFigures(contenders)
  } finally {
    await Promise.all(contenders.flatMap(({ stores }) => stores).map(store => store.close()))
    await cluster.remove()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function openContenders(directory: string, cluster: Cluster): Promise<readonly Contender[]> {
  const { url, port, directory: host } = cluster
  process.env.PGPASSWORD = password
  const socket = `postgres:///postgres?host=${host}&port=${port}&user=postern&`
  const openBy = (way: string, schema: string) =>
    openPostgresStore({ channels: sketchedChannels, url: `${way}schema=${schema}`, now: Date.now, log })
  const open = (schema: string) => openBy(socket, schema)
  const sqlite = await openSqliteStore({
    channels: sketchedChannels,
    path: join(directory, 'postern.db'),
    now: Date.now,
    log,
  })
  return [
    { name: 'SQLite', note: 'one store, in the thread of the gateway', stores: [sqlite], rates: [] },
    {
      name: 'one desk',
      note: 'at a server on this machine, by its socket',
      against: 'SQLite',
      stores: [await open('one')],
      rates: [],
    },
    {
      name: 'one store, TCP',
      note: 'the same by TCP on loopback',
      against: 'one desk',
      stores: [await openBy(`${url}?`, 'tcp')],
      rates: [],
    },
    {
      name: 'two desks',
      note: 'at one database, by its socket',
      against: 'one desk',
      stores: [await open('two'), await open('two')],
      rates: [],
    },
  ]
}

/** @returns messages a second, from the first admitted to the last delivered */
async function measure(stores: readonly GatewayStore[], count: number, mark: string): Promise<number> {
  const begun = performance.now()
  const share = count / stores.length
  await Promise.all(stores.map((store, at) => carryAll(store, share, `${mark}-${at}`)))
  return count / ((performance.now() - begun) / 1_000)
}

/** As many at once as a busy gateway has; each gateway also takes what the other has admitted. */
async function carryAll(store: GatewayStore, count: number, mark: string): Promise<void> {
  const request = { holder: mark, limit: atOnce, leaseMs: 60_000 }
  for (let from = 0; from < count; from += atOnce) {
    const size = Math.min(atOnce, count - from)
    await Promise.all(Array.from({ length: size }, (_, at) => store.admit(sketchIntake(`${mark}-${from + at}`), 'c')))
    await workOff(store, request)
  }
  await workOff(store, request)
}

async function workOff(store: GatewayStore, request: Parameters<GatewayStore['leaseTurns']>[0]): Promise<void> {
  for (;;) {
    const turns = await store.leaseTurns(request)
    await Promise.all(turns.map(turn => store.commit(turn, sketchAnswer(turn.content.id, turn.content.thread_id))))
    const deliveries = await store.leaseDeliveries({ ...request, rank: 'answer' })
    await Promise.all(deliveries.map(delivery => store.settle(delivery, { state: 'sent' })))
    if (turns.length + deliveries.length === 0) return
  }
}

function sketchIntake(id: string): Intake {
  return {
    agent: 'echo',
    duplicateKey: id,
    aliases: [],
    proofs: [{ kind: 'jwt', verdict: 'pass', key_id: 'k1' }],
    raw: { bytes: new TextEncoder().encode(JSON.stringify({ id })), form: 'json' },
    target: { answerTo: id },
    disposition: 'answer',
    thread: { scope: 'public', references: [] },
    message: {
      id,
      thread_id: `thread of ${id}`,
      sender: { address: '@ada@peer.test', auth_method: 'none', verified: false },
      recipient: '@echo@agents.test',
      parts: [{ kind: 'text', mime: 'text/plain', content: `When does the last train leave, asks ${id}?` }],
      recipient_capabilities: { mention_relay: { kind: 'none' } },
      received_via: 'a2a',
      received_at: isoTime(Date.now()),
    },
  }
}

function sketchAnswer(id: string, thread_id: string): Parameters<GatewayStore['commit']>[1] {
  return {
    response: {
      id: `answer to ${id}`,
      thread_id,
      in_reply_to: id,
      sender: '@echo@agents.test',
      parts: [{ kind: 'text', mime: 'text/plain', content: 'At eleven.' }],
      status: 'completed',
      created_at: isoTime(Date.now()),
    },
    deliveries: [{ to: `https://peer.test/${id}`, target: null }],
  }
}

function toFigures(contenders: readonly Contender[]): readonly Figure[] {
  return contenders.map(({ name, note, against, rates }): Figure => {
    const other = contenders.find(each => each.name === against)
    const ratio = other && median(rates.map((rate, round) => rate / (other.rates[round] ?? rate)))
    return {
      case: title,
      name,
      note,
      value: median(rates),
      unit: 'messages/s',
      ...(other && { ratio, against: `÷ ${other.name}` }),
    }
  })
}
