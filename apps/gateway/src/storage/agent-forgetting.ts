// Calls agents with memories of their own until each of them has forgotten a person.
import type { AgentDeps } from '@postern/agents'
import type { Json, Log, System } from '@postern/message'
import { bindLog, boundRetryAfter, makeId, Unavailable } from '@postern/message'
import type { AgentOutcome, PendingForget } from '@postern/operator'
import type { Channel, ForgottenPerson, PersonMessagesRequest } from '@postern/pipeline'
import { listForgotten } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import { CallSlots } from './call-slots.ts'

/** The kind and the owner of the records of pending calls. */
const callRecords = { kind: 'agent-forgetting', owner: 'gateway' }

/** The pauses between retries double from the first to the longest, ms. */
const [minRetryMs, maxRetryMs] = [15_000, 6 * 3_600_000]
/** The time after an agent's deadline, ms, at which a call is repeated, because the process that made it must have ended. */
const graceMs = 60_000
/** The bounds of the time between two polls for due calls, ms. */
const [minPollMs, maxPollMs] = [500, 15_000]
/** The time that an operator waits for the first calls, ms. */
const maxWaitMs = 10_000
/** The longest time of one call, ms, unless the agent's turns have a shorter limit. */
const maxCallMs = 60_000

interface PlannedCall {
  readonly agent: string
  readonly forgotten: ForgottenPerson
  /** The due time, ms since the epoch. */
  readonly due_at: number
  readonly failures: number
  readonly error?: string
}

interface AgentForgettingDeps {
  readonly store: Pick<GatewayStore, 'records' | 'findPersonMessages'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  readonly system: Pick<System, 'now' | 'sleep' | 'randomBytes'> & { readonly log: Log }
  /** Returns the running agents. */
  agents(): Pick<AgentDeps, 'list' | 'findRunning'> | undefined
}

export interface AgentForgetting {
  /** Stores the calls of agents that must forget a person, before the gateway itself forgets them. Returns the ids of the calls. */
  plan(request: PersonMessagesRequest): Promise<readonly string[]>
  /** Makes these calls now. Resolves with their outcomes, or after a while with their states. */
  call(ids: readonly string[]): Promise<readonly AgentOutcome[]>
  /** Makes due calls until `signal` aborts. */
  watch(signal: AbortSignal): Promise<void>
  /** Lists the pending calls. An agent that has forgotten everybody has none. */
  listWaiting(): Promise<readonly PendingForget[]>
}

export function createAgentForgetting(deps: AgentForgettingDeps): AgentForgetting {
  const { store, system } = deps
  /** The signal of the newest watch. Undefined while this gateway runs no agents. */
  let watchSignal: AbortSignal | undefined
  const isDue = ({ due_at }: PlannedCall) => due_at <= system.now()
  let sleepEnd = new AbortController()
  const slots = new CallSlots()
  /** Makes a call, which stays planned if the store does not answer. */
  async function makeCall(id: string, stopSignal: AbortSignal): Promise<AgentOutcome | undefined> {
    try {
      return await callAgent(id, deps, stopSignal)
    } catch (error) {
      system.log.warn({ err: error, forgetting: id }, 'cannot call an agent to forget somebody')
      return undefined
    }
  }
  const beginCall = (id: string, agent: string, stopSignal: AbortSignal) =>
    slots.run(id, agent, () => makeCall(id, stopSignal))?.finally(() => sleepEnd.abort())

  /** Begins the due calls, and returns the time until the next ones, ms. Calls without a slot begin when another call ends. */
  async function beginDueCalls(signal: AbortSignal): Promise<number> {
    const plannedCalls = (await listPlannedCalls(deps)).filter(({ id }) => !slots.isRunning(id))
    for (const { id, agent } of plannedCalls.filter(isDue)) void beginCall(id, agent, signal)
    const pausesMs = plannedCalls.filter(call => !isDue(call)).map(({ due_at }) => due_at - system.now())
    return Math.max(minPollMs, Math.min(maxPollMs, ...pausesMs))
  }

  return {
    plan: request => planCalls(request, deps),
    async call(ids) {
      const stopSignal = watchSignal
      return waitForCalls(ids, {
        deps,
        async call(id) {
          const agent = await findCalledAgent(id, store.records)
          const ownCall = stopSignal && agent !== undefined ? beginCall(id, agent, stopSignal) : undefined
          return ownCall ?? requestCall(id, deps)
        },
      })
    },
    async watch(signal) {
      watchSignal = signal
      while (!signal.aborted) {
        sleepEnd = new AbortController()
        const pauseMs = await beginDueCalls(signal)
        await system.sleep(pauseMs, AbortSignal.any([signal, sleepEnd.signal]))
      }
      await slots.waitForCalls()
    },
    async listWaiting() {
      const plannedCalls = await listPlannedCalls(deps)
      return plannedCalls.map(({ agent, failures, error, due_at: nextCallAt }) => ({
        agent,
        failures,
        error,
        nextCallAt,
      }))
    },
  }
}

async function planCalls(
  request: PersonMessagesRequest,
  { store, channels, system, agents }: AgentForgettingDeps,
): Promise<readonly string[]> {
  const isForgetful = (name: string) => agents()?.findRunning(name)?.agent.forget !== undefined
  const names = (agents()?.list() ?? []).map(({ name }) => name).filter(isForgetful)
  if (names.length === 0) return []
  const ids: string[] = []
  for (const { agent, ...forgotten } of await listForgotten(request, { store, channels, agents: names })) {
    const id = makeId(system)
    // The call is due later, because the agent could read the person's messages again until the gateway has forgotten them.
    const plannedCall: PlannedCall = { agent, forgotten, due_at: system.now() + graceMs, failures: 0 }
    await store.records.insert({ ...callRecords, key: id }, plannedCall as unknown as Json)
    ids.push(id)
  }
  return ids
}

interface CallWaitDeps {
  readonly deps: AgentForgettingDeps
  call(id: string): Promise<AgentOutcome | undefined>
}

/** Waits for the calls, ten seconds at most. */
async function waitForCalls(
  ids: readonly string[],
  { deps: { store, system }, call }: CallWaitDeps,
): Promise<readonly AgentOutcome[]> {
  const waitEnd = new AbortController()
  const timeout = system.sleep(maxWaitMs, waitEnd.signal).then(() => undefined)
  const outcomes = ids.map(
    async id => (await Promise.race([call(id), timeout])) ?? findPendingOutcome(id, store.records),
  )
  const settledOutcomes = await Promise.all(outcomes)
  waitEnd.abort()
  return settledOutcomes.flatMap(outcome => outcome ?? [])
}

async function listPlannedCalls({ store, system }: AgentForgettingDeps) {
  const records = await store.records.list(callRecords.kind, callRecords.owner).catch(error => {
    system.log.warn({ err: error }, 'cannot read which agents have to forget somebody')
    return []
  })
  return records.map(({ key, value }) => ({ id: key, ...(value as unknown as PlannedCall) }))
}

function toOutcome({ agent, error = 'it has not answered yet' }: PlannedCall): AgentOutcome {
  return { agent, has_forgotten: false, error }
}

/** Makes a call due at once, so that another gateway performs it soon. */
async function requestCall(id: string, { store: { records }, system }: AgentForgettingDeps): Promise<undefined> {
  const key = { ...callRecords, key: id }
  const record = await records.get(key)
  const plannedCall = record && { ...(record.value as unknown as PlannedCall), due_at: system.now() }
  if (plannedCall) await records.swap(key, record.version, plannedCall as unknown as Json)
}

async function findCalledAgent(id: string, records: GatewayStore['records']): Promise<string | undefined> {
  const record = await records.get({ ...callRecords, key: id })
  return (record?.value as unknown as PlannedCall | undefined)?.agent
}

async function findPendingOutcome(id: string, records: GatewayStore['records']): Promise<AgentOutcome | undefined> {
  const record = await records.get({ ...callRecords, key: id })
  return record && toOutcome(record.value as unknown as PlannedCall)
}

/** Makes one call. Returns undefined if another process is making it. */
async function callAgent(
  id: string,
  { store: { records }, system, agents }: AgentForgettingDeps,
  stopSignal: AbortSignal,
): Promise<AgentOutcome | undefined> {
  const key = { ...callRecords, key: id }
  const record = await records.get(key)
  if (!record) return undefined
  const plannedCall = record.value as unknown as PlannedCall
  const { agent: name } = plannedCall
  const deadlineMs = Math.min(maxCallMs, agents()?.findRunning(name)?.deadlineMs ?? maxCallMs)
  const replaceCall = (version: number, value: PlannedCall) => records.swap(key, version, value as unknown as Json)
  const isClaimed = await replaceCall(record.version, { ...plannedCall, due_at: system.now() + deadlineMs + graceMs })
  if (!isClaimed) return undefined
  const log = bindLog(system.log, { agent: name })
  try {
    const signal = AbortSignal.any([stopSignal, AbortSignal.timeout(deadlineMs)])
    await forget(plannedCall, { id, signal, log, agents })
    await records.remove(key)
    log.info({ forgetting: id }, 'an agent has forgotten somebody')
    return { agent: name, has_forgotten: true }
  } catch (error) {
    const failedCall = planRetry(plannedCall, error, system.now())
    log.warn({ err: error, forgetting: id, failures: failedCall.failures }, 'an agent has not forgotten somebody yet')
    await replaceCall(record.version + 1, failedCall)
    return toOutcome(failedCall)
  }
}

interface ForgetOptions extends Pick<AgentForgettingDeps, 'agents'> {
  readonly id: string
  readonly signal: AbortSignal
  readonly log: Log
}

/** Calls `forget()` of an agent. Does not wait for an agent that ignores its signal. */
async function forget({ agent, forgotten }: PlannedCall, { id, signal, log, agents }: ForgetOptions): Promise<void> {
  const runningAgent = agents()?.findRunning(agent)?.agent
  if (!runningAgent?.forget) throw new Error('there is no such agent, or it has no forget()')
  const abortRejection = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
  // An error that is thrown at once rejects, too, so that the race handles both promises.
  const forgetting = (async () => runningAgent.forget?.(forgotten, { id, signal, log }))()
  await Promise.race([forgetting, abortRejection])
}

function planRetry(plannedCall: PlannedCall, error: unknown, now: number): PlannedCall {
  const failures = plannedCall.failures + 1
  const pauseMs = Math.min(maxRetryMs, minRetryMs * 2 ** Math.min(20, plannedCall.failures))
  const retryAfterSeconds = error instanceof Unavailable ? boundRetryAfter(error.retryAfter) : undefined
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000
  const reason = error instanceof Error ? error.message : String(error)
  return {
    ...plannedCall,
    due_at: Math.ceil(now + Math.min(maxRetryMs, Math.max(1_000, retryAfterMs ?? pauseMs))),
    failures,
    error: reason.slice(0, 300).toWellFormed(),
  }
}
