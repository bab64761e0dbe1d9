// Runs one of the operator's agent modules in a separate thread, one turn at a time.
import type { MessagePort } from 'node:worker_threads'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { createSenderIdentity } from '@postern/message'
import type { Agent, AgentContext, AgentState } from '@postern/pipeline'
import { importOperatorModule, listOperatorModules } from '../../modules/operator-modules.ts'
import type { ContextMethod, FromThread, LogLevel, SentOutcome, ThreadOptions, ToThread, TurnData } from './messages.ts'
import { directMethods, promisedMethods, toSentError, toThrown } from './messages.ts'

type AgentModule = Pick<Agent, 'handle' | 'forget'> & { close?(): Promise<void> | void }

const tell = (message: FromThread) => parentPort?.postMessage(message)

const promised = new Map<number, PromiseWithResolvers<unknown>>()
let calls = 0
let stopping = new AbortController()
let goOn: (() => void) | undefined

function take(outcome: SentOutcome): unknown {
  if ('error' in outcome) throw toThrown(outcome.error)
  return outcome.value
}

/** Calls the gateway and blocks the thread until the call has ended. */
function callNow(method: ContextMethod, args: readonly unknown[], wake: Int32Array, direct: MessagePort): unknown {
  Atomics.store(wake, 0, 0)
  calls += 1
  tell({ kind: 'call', call: calls, method, args })
  Atomics.wait(wake, 0, 0)
  return take(receiveMessageOnPort(direct)?.message as SentOutcome)
}

function callLater(method: ContextMethod, args: readonly unknown[]): Promise<unknown> {
  calls += 1
  const waiting = Promise.withResolvers<unknown>()
  promised.set(calls, waiting)
  tell({ kind: 'call', call: calls, method, args })
  // A rejection that the agent does not await must not end its thread.
  waiting.promise.catch(() => undefined)
  return waiting.promise
}

function createLog(bound: object): AgentContext['log'] {
  const write = (level: LogLevel) => (fields: object, text: string) => {
    const { err, ...others } = fields as { readonly err?: unknown }
    const sent = { ...bound, ...others, ...(err !== undefined && { err: toSentError(err) }) }
    tell({ kind: 'log', level, fields: sent, text })
  }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  } as AgentContext['log']
}

const noFunction =
  'Cannot set the state by a function: the gateway runs it after the turn, and "isolate" keeps it in its thread. Give the value, or leave "isolate" out'

/** A turn that runs in this thread. After its end, actions of its agent have no effect and must not reach the next turn of the thread. */
interface RunningTurn {
  isOver: boolean
}

function openContext(data: TurnData, direct: MessagePort, turn: RunningTurn) {
  const { message, view, facts, person, hasPersonState, wake } = data
  const woken = new Int32Array(wake)
  const now = Object.fromEntries(
    directMethods.map(method => [
      method,
      (...args: unknown[]) => (turn.isOver ? undefined : callNow(method, args, woken, direct)),
    ]),
  ) as Record<(typeof directMethods)[number], (...args: unknown[]) => never>
  const later = (method: ContextMethod, args: readonly unknown[]) =>
    turn.isOver ? new Promise<never>(() => {}) : callLater(method, args)
  const stateOf = (prefix: '' | 'person.'): AgentState => ({
    get: () => later(`${prefix}state.get`, []) as ReturnType<AgentState['get']>,
    set(value) {
      if (typeof value === 'function') throw new TypeError(noFunction)
      now[`${prefix}state.set`](value)
    },
  })
  return {
    ...now,
    ...facts,
    signal: stopping.signal,
    history: () => view,
    ...Object.fromEntries(promisedMethods.map(method => [method, (...args: unknown[]) => later(method, args)])),
    state: stateOf(''),
    identity: createSenderIdentity(message.sender),
    ...(person && { person: { ...person, ...(hasPersonState && { state: stateOf('person.') }) } }),
    log: createLog({}),
  } as unknown as AgentContext
}

async function runTurn(agent: AgentModule, data: TurnData, direct: MessagePort): Promise<void> {
  stopping = new AbortController()
  const turn = { isOver: false }
  try {
    const answer = await agent.handle(data.message, openContext(data, direct, turn))
    const isStream = typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
    if (!isStream) return tell({ kind: 'end', isStream, value: answer })
    for await (const value of answer) {
      const { promise, resolve } = Promise.withResolvers<void>()
      goOn = resolve
      tell({ kind: 'chunk', value })
      // Pieces are sent one at a time, because a writer that does not wait must not fill the memory.
      await promise
      stopping.signal.throwIfAborted()
    }
    tell({ kind: 'end', isStream })
  } catch (error) {
    tell({ kind: 'fault', error: toSentError(error) })
  } finally {
    turn.isOver = true
    direct.close()
    promised.clear()
  }
}

async function forget(
  agent: AgentModule,
  { forgotten, id }: Extract<ToThread, { readonly kind: 'forget' }>,
): Promise<void> {
  stopping = new AbortController()
  try {
    await agent.forget?.(forgotten, { id, signal: stopping.signal, log: createLog({}) })
    tell({ kind: 'forgot' })
  } catch (error) {
    tell({ kind: 'fault', error: toSentError(error) })
  }
}

function listen(agent: AgentModule): void {
  parentPort?.on('message', (message: ToThread) => {
    if (message.kind === 'turn') void runTurn(agent, message.data, message.direct)
    else if (message.kind === 'forget') void forget(agent, message)
    else if (message.kind === 'next') goOn?.()
    else if (message.kind === 'abort') {
      stopping.abort(toThrown(message.reason))
      goOn?.()
    } else if (message.kind === 'result') {
      const waiting = promised.get(message.call)
      promised.delete(message.call)
      const { outcome } = message
      if ('error' in outcome) waiting?.reject(toThrown(outcome.error))
      else waiting?.resolve(outcome.value)
    } else if (message.kind === 'close') {
      void Promise.resolve(agent.close?.()).finally(() => tell({ kind: 'closed' }))
    }
  })
}

try {
  const { url } = workerData as ThreadOptions
  const imported = (await importOperatorModule(url)) as { readonly handle?: unknown; readonly default?: unknown }
  const agentModule =
    imported.handle === undefined && typeof imported.default === 'object' ? imported.default : imported
  const agent = agentModule as AgentModule
  listen(agent)
  const exports = Object.entries(agent).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  tell({ kind: 'loaded', exports, modules: listOperatorModules() })
} catch (error) {
  tell({ kind: 'unloadable', error: toSentError(error) })
}
