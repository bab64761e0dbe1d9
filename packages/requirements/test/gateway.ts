import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { AgentDirectory, PlannedRequirement, Platform, Policy, RequirementKind, Store, Turn } from '@postern/core'
import { isForOperator, operatorSubject, subjectOf } from '@postern/core'
import { toProblem } from '@postern/http'
import { openSqliteStore } from '@postern/store'
import { silentLog, sketchedChannels, sketchIntake, sketchResponse } from '@postern/testing'
import type { FindCall, PaymentsConfig, Requirements } from '../src/index.ts'
import { openRequirements, requirementsConfigSchema } from '../src/index.ts'

export const pagesOrigin = 'https://agents.test'

const echo = { name: 'echo', displayName: 'Echo & Co', description: '', version: '1' }
export const testDirectory: AgentDirectory = {
  domain: 'agents.test',
  origin: pagesOrigin,
  defaultAgent: 'echo',
  find: name => (name === 'echo' ? echo : undefined),
  list: () => [echo],
}

export interface RequirementsGateway {
  readonly store: Store
  readonly requirements: Requirements
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  /** Of the real socket before its pages. */
  readonly url: string
  advance(ms: number): void
  /** From now on only `advance` makes time pass. */
  holdClock(): void
  /** Something that is required of ada, and the path of its page. */
  requirement(
    kind: RequirementKind,
    policy?: Partial<Policy>,
  ): Promise<{ readonly path: string; readonly planned: PlannedRequirement }>
  /** How many turns follow from what was decided. */
  countTurns(): Promise<number>
  close(): Promise<void>
}

export async function openRequirementsGateway(
  payments?: PaymentsConfig,
  findCall?: FindCall,
): Promise<RequirementsGateway> {
  let passed = 0
  let held: number | undefined
  const now = () => (held ?? Date.now()) + passed
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now, log: silentLog })
  const platform = { now, randomBytes: (count: number) => randomBytes(count), log: silentLog }
  const requirements = await openRequirements({
    config: requirementsConfigSchema.parse({}),
    payments,
    baseDir: import.meta.dirname,
    store,
    decisions: store,
    platform,
    agents: testDirectory,
    findCall,
  })
  requirements.routes.onError(error => toProblem(error))
  const server = createAdaptorServer({ fetch: requirements.routes.fetch }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const lease = () => store.leaseTurns({ holder: 'w', limit: 9, leaseMs: 60_000 })
  let count = 0

  function plan(turn: Turn, kind: RequirementKind, words: Partial<Policy>): PlannedRequirement {
    const id = `requirement-${count}`
    const digest = requirements.states.digestOf(requirements.states.stateOf(id))
    const stored = { kind, message: 'May I?', ...words, requirement: id }
    const subject = isForOperator(stored) ? operatorSubject : subjectOf(turn.content.sender)
    return { id, digest, kind, policy: stored, subject, expiresAt: now() + 3_600_000 }
  }

  return {
    store,
    requirements,
    platform,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    advance(ms) {
      passed += ms
    },
    holdClock() {
      held = Date.now()
    },
    async requirement(kind, words = {}) {
      count += 1
      await store.admit(sketchIntake(`m${count}`), 'c')
      const [turn] = await lease()
      if (!turn) throw new Error('no turn is due')
      const planned = plan(turn, kind, words)
      await store.commit(turn, {
        response: sketchResponse(turn, 'may I', 'input_required'),
        deliveries: [],
        requirements: [planned],
      })
      return { path: `/actions/${requirements.states.stateOf(planned.id)}`, planned }
    },
    countTurns: async () => (await lease()).length,
    async close() {
      server.close()
      await store.close()
    },
  }
}
