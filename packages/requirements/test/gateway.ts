// Opens the pages of requirements on a real socket, with a store.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { toProblem } from '@postern/http'
import type { Policy, RequirementKind, System } from '@postern/message'
import { isForOperator, noLog, operatorSubject, subjectOf } from '@postern/message'
import type { AgentDirectory, PlannedRequirement, Store, Turn } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels, sketchIntake, sketchResponse } from '@postern/testing'
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
  readonly system: Pick<System, 'now' | 'randomBytes' | 'log'>
  /** The address of the real socket that serves the pages. */
  readonly url: string
  advance(ms: number): void
  /** Stops the clock. From then on, only `advance` makes time pass. */
  holdClock(): void
  /** Creates a requirement for ada, and returns it with the path of its page. */
  requirement(
    kind: RequirementKind,
    policy?: Partial<Policy>,
  ): Promise<{ readonly path: string; readonly planned: PlannedRequirement }>
  /** Counts the turns that followed from the decision. */
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
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now, log: noLog })
  const system = { now, randomBytes: (count: number) => randomBytes(count), log: noLog }
  const requirements = await openRequirements({
    config: requirementsConfigSchema.parse({}),
    payments,
    baseDir: import.meta.dirname,
    store,
    decisions: store,
    system,
    agents: testDirectory,
    findCall,
  })
  requirements.routes.onError(error => toProblem(error))
  const server = createAdaptorServer({ fetch: requirements.routes.fetch }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const lease = () => store.leaseTurns({ holder: 'w', limit: 9, leaseMs: 60_000 })
  let count = 0

  function plan(turn: Turn, kind: RequirementKind, words: Partial<Policy>): PlannedRequirement {
    const id = count.toString(16).padStart(32, '0')
    const digest = requirements.states.digestOf(requirements.states.stateOf(id))
    const stored = { kind, message: 'May I?', ...words, requirement: id }
    const subject = isForOperator(stored) ? operatorSubject : subjectOf(turn.content.sender)
    return { id, digest, kind, policy: stored, subject, expiresAt: now() + 3_600_000 }
  }

  return {
    store,
    requirements,
    system,
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
