// Runs one of the operator's agent modules in a separate thread, one turn at a time.
import type { MessagePort } from 'node:worker_threads'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { createSenderIdentity } from '@postern/message'
import type { Agent, AgentContext, AgentState } from '@postern/pipeline'
import { importOperatorModule, listOperatorModules } from '../../modules/operator-modules.ts'
import type {
  AgentWorkerOptions,
  CallOutcome,
  ContextMethod,
  FromWorker,
  LogLevel,
  ToWorker,
  TurnSnapshot,
} from './worker-protocol.ts'
import { asyncMethods, deserializeError, serializeError, syncMethods } from './worker-protocol.ts'

type AgentModule = Pick<Agent, 'handle' | 'forget'> & { close?(): Promise<void> | void }

const send = (message: FromWorker) => parentPort?.postMessage(message)

const pendingCalls = new Map<number, PromiseWithResolvers<unknown>>()
let callCount = 0
let cancellation = new AbortController()
/** Lets the stream of the running turn send its next chunk. */
let resumeStream: (() => void) | undefined

function unwrapOutcome(outcome: CallOutcome): unknown {
  if ('error' in outcome) throw deserializeError(outcome.error)
  return outcome.value
}

interface SyncChannel {
  readonly wakeFlag: Int32Array
  readonly syncPort: MessagePort
}

/** Calls the gateway and blocks the thread until the call has ended. */
function callSync(method: ContextMethod, args: readonly unknown[], { wakeFlag, syncPort }: SyncChannel): unknown {
  Atomics.store(wakeFlag, 0, 0)
  callCount += 1
  send({ kind: 'call', call: callCount, method, args })
  Atomics.wait(wakeFlag, 0, 0)
  return unwrapOutcome(receiveMessageOnPort(syncPort)?.message as CallOutcome)
}

function callAsync(method: ContextMethod, args: readonly unknown[]): Promise<unknown> {
  callCount += 1
  const pendingCall = Promise.withResolvers<unknown>()
  pendingCalls.set(callCount, pendingCall)
  send({ kind: 'call', call: callCount, method, args })
  // A rejection that the agent does not await must not end its thread.
  pendingCall.promise.catch(() => undefined)
  return pendingCall.promise
}

function createLog(boundFields: object): AgentContext['log'] {
  const write = (level: LogLevel) => (fields: object, text: string) => {
    const { err, ...otherFields } = fields as { readonly err?: unknown }
    const logFields = { ...boundFields, ...otherFields, ...(err !== undefined && { err: serializeError(err) }) }
    send({ kind: 'log', level, fields: logFields, text })
  }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  } as AgentContext['log']
}

const noFunctionText =
  'Cannot set the state by a function: the gateway runs it after the turn, and "isolate" keeps it in its thread. Give the value, or leave "isolate" out'

/** A turn that runs in this thread. After its end, actions of its agent have no effect and must not reach the next turn of the thread. */
interface RunningTurn {
  hasEnded: boolean
}

/** Creates the agent's context from the snapshot of the turn, and from calls of the gateway for everything else. */
function createAgentContext(snapshot: TurnSnapshot, syncPort: MessagePort, turn: RunningTurn) {
  const { message, view, contextFields, person, hasPersonState } = snapshot
  const channel = { wakeFlag: new Int32Array(snapshot.wakeFlag), syncPort }
  const syncMembers = Object.fromEntries(
    syncMethods.map(method => [
      method,
      (...args: unknown[]) => (turn.hasEnded ? undefined : callSync(method, args, channel)),
    ]),
  ) as Record<(typeof syncMethods)[number], (...args: unknown[]) => never>
  const callInTurn = (method: ContextMethod, args: readonly unknown[]) =>
    turn.hasEnded ? new Promise<never>(() => {}) : callAsync(method, args)
  const createState = (prefix: '' | 'person.'): AgentState => ({
    get: () => callInTurn(`${prefix}state.get`, []) as ReturnType<AgentState['get']>,
    set(value) {
      if (typeof value === 'function') throw new TypeError(noFunctionText)
      syncMembers[`${prefix}state.set`](value)
    },
  })
  return {
    ...syncMembers,
    ...contextFields,
    signal: cancellation.signal,
    history: () => view,
    ...Object.fromEntries(asyncMethods.map(method => [method, (...args: unknown[]) => callInTurn(method, args)])),
    state: createState(''),
    identity: createSenderIdentity(message.sender),
    ...(person && { person: { ...person, ...(hasPersonState && { state: createState('person.') }) } }),
    log: createLog({}),
  } as unknown as AgentContext
}

async function runTurn(agent: AgentModule, snapshot: TurnSnapshot, syncPort: MessagePort): Promise<void> {
  cancellation = new AbortController()
  const turn = { hasEnded: false }
  try {
    const answer = await agent.handle(snapshot.message, createAgentContext(snapshot, syncPort, turn))
    const isStream = typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
    if (!isStream) return send({ kind: 'end', isStream, value: answer })
    for await (const value of answer) {
      const { promise, resolve } = Promise.withResolvers<void>()
      resumeStream = resolve
      send({ kind: 'chunk', value })
      // Chunks are sent one at a time, because a writer that does not wait must not fill the memory.
      await promise
      cancellation.signal.throwIfAborted()
    }
    send({ kind: 'end', isStream })
  } catch (error) {
    send({ kind: 'fault', error: serializeError(error) })
  } finally {
    turn.hasEnded = true
    syncPort.close()
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

function settleCall({ call, outcome }: Extract<ToWorker, { readonly kind: 'result' }>): void {
  const pendingCall = pendingCalls.get(call)
  pendingCalls.delete(call)
  if ('error' in outcome) pendingCall?.reject(deserializeError(outcome.error))
  else pendingCall?.resolve(outcome.value)
}

type MessageHandlers = {
  readonly [Kind in ToWorker['kind']]: (message: Extract<ToWorker, { readonly kind: Kind }>) => void
}

function handleMessages(agent: AgentModule): void {
  const handlers: MessageHandlers = {
    turn: ({ data, syncPort }) => void runTurn(agent, data, syncPort),
    forget: message => void forget(agent, message),
    next: () => resumeStream?.(),
    abort({ reason }) {
      cancellation.abort(deserializeError(reason))
      resumeStream?.()
    },
    result: settleCall,
    close: () => void Promise.resolve(agent.close?.()).finally(() => send({ kind: 'closed' })),
  }
  parentPort?.on('message', (message: ToWorker) => handlers[message.kind](message as never))
}

/** Imports the module; the functions of a CommonJS module may be in its default export. */
async function loadAgent(url: string): Promise<AgentModule> {
  const namespace = (await importOperatorModule(url)) as { readonly handle?: unknown; readonly default?: unknown }
  const usesDefault = namespace.handle === undefined && typeof namespace.default === 'object'
  return (usesDefault ? namespace.default : namespace) as AgentModule
}

try {
  const agent = await loadAgent((workerData as AgentWorkerOptions).url)
  handleMessages(agent)
  const exports = Object.entries(agent).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  send({ kind: 'loaded', exports, modules: listOperatorModules() })
} catch (error) {
  send({ kind: 'unloadable', error: serializeError(error) })
}
