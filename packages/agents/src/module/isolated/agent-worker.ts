// Runs one of the operator's agent modules in a separate thread, one turn at a time.
import type { MessagePort } from 'node:worker_threads'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { createSenderIdentity } from '@postern/message'
import type { Agent, AgentContext, AgentState } from '@postern/pipeline'
import { importOperatorModule, listOperatorModules } from '../../modules/operator-modules.ts'
import type {
  AgentWorkerOptions,
  ContextMethod,
  FromWorker,
  LogLevel,
  SentOutcome,
  ToWorker,
  TurnSnapshot,
} from './worker-protocol.ts'
import { asyncMethods, deserializeError, serializeError, syncMethods } from './worker-protocol.ts'

type AgentModule = Pick<Agent, 'handle' | 'forget'> & { close?(): Promise<void> | void }

const send = (message: FromWorker) => parentPort?.postMessage(message)

const pendingCalls = new Map<number, PromiseWithResolvers<unknown>>()
let calls = 0
let cancellation = new AbortController()
let goOn: (() => void) | undefined

function unwrap(outcome: SentOutcome): unknown {
  if ('error' in outcome) throw deserializeError(outcome.error)
  return outcome.value
}

/** Calls the gateway and blocks the thread until the call has ended. */
function callNow(method: ContextMethod, args: readonly unknown[], signal: Int32Array, syncPort: MessagePort): unknown {
  Atomics.store(signal, 0, 0)
  calls += 1
  send({ kind: 'call', call: calls, method, args })
  Atomics.wait(signal, 0, 0)
  return unwrap(receiveMessageOnPort(syncPort)?.message as SentOutcome)
}

function callLater(method: ContextMethod, args: readonly unknown[]): Promise<unknown> {
  calls += 1
  const pendingCall = Promise.withResolvers<unknown>()
  pendingCalls.set(calls, pendingCall)
  send({ kind: 'call', call: calls, method, args })
  // A rejection that the agent does not await must not end its thread.
  pendingCall.promise.catch(() => undefined)
  return pendingCall.promise
}

function createLog(bound: object): AgentContext['log'] {
  const write = (level: LogLevel) => (fields: object, text: string) => {
    const { err, ...otherFields } = fields as { readonly err?: unknown }
    const logFields = { ...bound, ...otherFields, ...(err !== undefined && { err: serializeError(err) }) }
    send({ kind: 'log', level, fields: logFields, text })
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

function openContext(data: TurnSnapshot, direct: MessagePort, turn: RunningTurn) {
  const { message, view, contextFields, person, hasPersonState, signal } = data
  const signalArray = new Int32Array(signal)
  const now = Object.fromEntries(
    syncMethods.map(method => [
      method,
      (...args: unknown[]) => (turn.isOver ? undefined : callNow(method, args, signalArray, direct)),
    ]),
  ) as Record<(typeof syncMethods)[number], (...args: unknown[]) => never>
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
    ...contextFields,
    signal: cancellation.signal,
    history: () => view,
    ...Object.fromEntries(asyncMethods.map(method => [method, (...args: unknown[]) => later(method, args)])),
    state: stateOf(''),
    identity: createSenderIdentity(message.sender),
    ...(person && { person: { ...person, ...(hasPersonState && { state: stateOf('person.') }) } }),
    log: createLog({}),
  } as unknown as AgentContext
}

async function runTurn(agent: AgentModule, data: TurnSnapshot, direct: MessagePort): Promise<void> {
  cancellation = new AbortController()
  const turn = { isOver: false }
  try {
    const answer = await agent.handle(data.message, openContext(data, direct, turn))
    const isStream = typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
    if (!isStream) return send({ kind: 'end', isStream, value: answer })
    for await (const value of answer) {
      const { promise, resolve } = Promise.withResolvers<void>()
      goOn = resolve
      send({ kind: 'chunk', value })
      // Pieces are sent one at a time, because a writer that does not wait must not fill the memory.
      await promise
      cancellation.signal.throwIfAborted()
    }
    send({ kind: 'end', isStream })
  } catch (error) {
    send({ kind: 'fault', error: serializeError(error) })
  } finally {
    turn.isOver = true
    direct.close()
    pendingCalls.clear()
  }
}

async function forget(
  agent: AgentModule,
  { forgotten, id }: Extract<ToWorker, { readonly kind: 'forget' }>,
): Promise<void> {
  cancellation = new AbortController()
  try {
    await agent.forget?.(forgotten, { id, signal: cancellation.signal, log: createLog({}) })
    send({ kind: 'forgot' })
  } catch (error) {
    send({ kind: 'fault', error: serializeError(error) })
  }
}

function handleMessages(agent: AgentModule): void {
  parentPort?.on('message', (message: ToWorker) => {
    if (message.kind === 'turn') void runTurn(agent, message.data, message.direct)
    else if (message.kind === 'forget') void forget(agent, message)
    else if (message.kind === 'next') goOn?.()
    else if (message.kind === 'abort') {
      cancellation.abort(deserializeError(message.reason))
      goOn?.()
    } else if (message.kind === 'result') {
      const pendingCall = pendingCalls.get(message.call)
      pendingCalls.delete(message.call)
      const { outcome } = message
      if ('error' in outcome) pendingCall?.reject(deserializeError(outcome.error))
      else pendingCall?.resolve(outcome.value)
    } else if (message.kind === 'close') {
      void Promise.resolve(agent.close?.()).finally(() => send({ kind: 'closed' }))
    }
  })
}

try {
  const { url } = workerData as AgentWorkerOptions
  const imported = (await importOperatorModule(url)) as { readonly handle?: unknown; readonly default?: unknown }
  const agentModule =
    imported.handle === undefined && typeof imported.default === 'object' ? imported.default : imported
  const agent = agentModule as AgentModule
  handleMessages(agent)
  const exports = Object.entries(agent).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  send({ kind: 'loaded', exports, modules: listOperatorModules() })
} catch (error) {
  send({ kind: 'unloadable', error: serializeError(error) })
}
