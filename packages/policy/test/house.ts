import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { AgentDirectory, DemandKind, Desk, Log, PlannedDemand, Policy, Turn } from '@postern/core'
import { isForOperator, operatorSubject, subjectOf } from '@postern/core'
import { toProblem } from '@postern/http'
import { openSqliteDesk } from '@postern/store'
import { sketchIntake, sketchResponse } from '@postern/testing'
import type { FindCall, PaymentsConfig, PolicyRoom } from '../src/index.ts'
import { demandsConfigSchema, openPolicy } from '../src/index.ts'

export const origin = 'https://agents.test'
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

const echo = { name: 'echo', displayName: 'Echo & Co', description: '', version: '1' }
export const agents: AgentDirectory = {
  domain: 'agents.test',
  origin,
  defaultAgent: 'echo',
  find: name => (name === 'echo' ? echo : undefined),
  list: () => [echo],
}

export interface PolicyHouse {
  readonly desk: Desk
  readonly policy: PolicyRoom
  /** Of the real socket before its pages. */
  readonly url: string
  advance(ms: number): void
  /** From now on only `advance` makes time pass. */
  holdClock(): void
  /** Something that is demanded of ada, and the path of its page. */
  demand(
    kind: DemandKind,
    policy?: Partial<Policy>,
  ): Promise<{ readonly path: string; readonly planned: PlannedDemand }>
  /** How many turns follow from what was decided. */
  countTurns(): Promise<number>
  close(): Promise<void>
}

export async function openPolicyHouse(payments?: PaymentsConfig, findCall?: FindCall): Promise<PolicyHouse> {
  let passed = 0
  let held: number | undefined
  const now = () => (held ?? Date.now()) + passed
  const desk = await openSqliteDesk({ path: ':memory:', now, log: silent })
  const world = { now, randomBytes: (count: number) => randomBytes(count), log: silent }
  const demands = demandsConfigSchema.parse({})
  const policy = await openPolicy({ demands, payments, baseDir: import.meta.dirname, desk, world, agents, findCall })
  policy.routes.onError(error => toProblem(error))
  const server = createAdaptorServer({ fetch: policy.routes.fetch }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const lease = () => desk.leaseTurns({ holder: 'w', limit: 9, leaseMs: 60_000 })
  let count = 0

  function plan(turn: Turn, kind: DemandKind, words: Partial<Policy>): PlannedDemand {
    const id = `demand-${count}`
    const digest = policy.demands.digestOf(policy.demands.stateOf(id))
    const stored = { kind, message: 'May I?', ...words, demand: id }
    const subject = isForOperator(stored) ? operatorSubject : subjectOf(turn.content.sender)
    return { id, digest, kind, policy: stored, subject, expiresAt: now() + 3_600_000 }
  }

  return {
    desk,
    policy,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    advance(ms) {
      passed += ms
    },
    holdClock() {
      held = Date.now()
    },
    async demand(kind, words = {}) {
      count += 1
      await desk.admit(sketchIntake(`m${count}`), 'c')
      const [turn] = await lease()
      if (!turn) throw new Error('no turn is due')
      const planned = plan(turn, kind, words)
      await desk.commit(turn, {
        response: sketchResponse(turn, 'may I', 'input_required'),
        deliveries: [],
        demands: [planned],
      })
      return { path: `/actions/${policy.demands.stateOf(planned.id)}`, planned }
    },
    countTurns: async () => (await lease()).length,
    async close() {
      server.close()
      await desk.close()
    },
  }
}
