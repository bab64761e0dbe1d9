// Gives each turn of an agent its own thread, and ends the thread when the turn's time is over.
import type { MessagePort } from 'node:worker_threads'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { NormalizedMessage } from '@postern/message'
import type {
  Agent,
  AgentAnswer,
  AgentChunk,
  AgentContext,
  ForgettingContext,
  ForgottenPerson,
} from '@postern/pipeline'
import { addOperatorModules } from '../../modules/operator-modules.ts'
import type { CallOutcome, ContextMethod, FromWorker, ToWorker } from './worker-protocol.ts'
import { deserializeError, serializeError, syncMethods } from './worker-protocol.ts'

const threadFile = new URL('./agent-thread.mjs', import.meta.url)

/** The time for a thread to stop by itself after its turn is over, ms. */
const graceMs = 500
/** The maximum number of threads that wait for their next turn. Any others end with their turn. */
const maxIdleThreads = 4
/** The maximum size of the module's objects, MB. */
const maxHeapMb = 512

/** A thread that has loaded the module. */
interface Thread {
  readonly worker: Worker
  readonly exports: readonly string[]
}

interface IsolatedAgent {
  readonly agent: Agent
  /** The names of the functions that the module exports. */
  readonly exports: readonly string[]
  close(): Promise<void>
}

/** Opens a module whose turns run in separate threads. @throws what the module throws while it loads */
export async function openIsolatedAgent(url: string): Promise<IsolatedAgent> {
  const idleThreads: Thread[] = []
  const workers = new Set<Worker>()

  async function startThread(): Promise<Thread> {
    const worker = new Worker(threadFile, {
      workerData: { url },
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    })
    workers.add(worker)
    worker.once('exit', () => workers.delete(worker))
    const loadedMessage = await waitForMessage(worker)
    if (loadedMessage.kind === 'loaded') {
      addOperatorModules(loadedMessage.modules)
      // An idle thread must not keep the process alive.
      worker.unref()
      return { worker, exports: loadedMessage.exports }
    }
    await worker.terminate()
    throw loadedMessage.kind === 'unloadable'
      ? deserializeError(loadedMessage.error)
      : new Error('the thread of the agent did not load it')
  }

  async function acquireThread(): Promise<Thread> {
    for (;;) {
      const thread = idleThreads.pop() ?? (await startThread())
      if (workers.has(thread.worker)) return thread
    }
  }

  function releaseThread(thread: Thread): void {
    if (idleThreads.length < maxIdleThreads) idleThreads.push(thread)
    else void thread.worker.terminate()
  }

  const firstThread = await startThread()
  idleThreads.push(firstThread)
  return {
    exports: firstThread.exports,
    agent: {
      handle: (message, context) => runTurn(message, context, { acquire: acquireThread, release: releaseThread }),
      ...(firstThread.exports.includes('forget') && {
        forget: (forgotten, context) =>
          runForget(forgotten, context, { acquire: acquireThread, release: releaseThread }),
      }),
    },
    async close() {
      await Promise.all([...workers].map(closeThread))
    },
  }
}

async function closeThread(worker: Worker): Promise<void> {
  const timer = setTimeout(() => void worker.terminate(), graceMs)
  const closedMessage = waitForMessage(worker).catch(() => undefined)
  send(worker, { kind: 'close' })
  await closedMessage
  clearTimeout(timer)
  await worker.terminate()
}

function send(worker: Worker, message: ToWorker): void {
  worker.postMessage(message, message.kind === 'turn' ? [message.syncPort] : [])
}

function waitForMessage(worker: Worker): Promise<FromWorker> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('The thread of the agent has ended')))
  })
}

interface ThreadPool {
  acquire(): Promise<Thread>
  release(thread: Thread): void
}

/** Runs one turn. The first message of the thread says whether the answer is a stream. */
async function runTurn(
  message: NormalizedMessage,
  context: AgentContext,
  threads: ThreadPool,
): Promise<AgentAnswer | AsyncIterable<AgentChunk>> {
  const thread = await threads.acquire()
  const turn = openTurn(thread, message, context, threads)
  const firstMessage = await turn.next()
  if (firstMessage.kind === 'end' && !firstMessage.isStream) return firstMessage.value as AgentAnswer
  return streamTurn(firstMessage, turn)
}

/** Runs the deletion of a person's data, and terminates a thread that does not end in time. */
async function runForget(
  person: ForgottenPerson,
  { id, signal, log }: ForgettingContext,
  { acquire, release }: ThreadPool,
): Promise<void> {
  const thread = await acquire()
  const { worker } = thread
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const terminate = () => void worker.terminate()
  const handleMessage = (message: FromWorker) => {
    if (message.kind === 'log') log[message.level](message.fields, message.text)
    else if (message.kind === 'forgot') resolve()
    else if (message.kind === 'fault') reject(deserializeError(message.error))
  }
  const handleExit = () => reject(signal.aborted ? signal.reason : new Error('The thread of the agent has ended'))
  worker.ref()
  worker.on('message', handleMessage).on('error', reject).on('exit', handleExit)
  signal.addEventListener('abort', terminate, { once: true })
  send(worker, { kind: 'forget', forgotten: person, id })
  try {
    await promise
  } finally {
    signal.removeEventListener('abort', terminate)
    worker.off('message', handleMessage).off('error', reject).off('exit', handleExit)
    worker.unref()
    release(thread)
  }
}

async function* streamTurn(
  firstMessage: TurnMessage,
  turn: ReturnType<typeof openTurn>,
): AsyncGenerator<AgentChunk, void, undefined> {
  try {
    for (let message = firstMessage; message.kind === 'chunk'; message = await turn.next()) {
      yield message.value as AgentChunk
      turn.requestNext()
    }
  } finally {
    turn.stop()
  }
}

type TurnMessage = Extract<FromWorker, { readonly kind: 'chunk' | 'end' }>

/** Starts a turn in a thread. */
function openTurn(thread: Thread, message: NormalizedMessage, context: AgentContext, { release }: ThreadPool) {
  const { worker } = thread
  const { port1: syncPort, port2: workerPort } = new MessageChannel()
  const wakeFlag = new SharedArrayBuffer(4)
  let nextTurnMessage = Promise.withResolvers<TurnMessage>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let hasEnded = false
  nextTurnMessage.promise.catch(() => undefined)

  function stop(): void {
    if (timer || hasEnded) return
    const reason = context.signal.reason ?? new Error('Nobody reads the answer')
    send(worker, { kind: 'abort', reason: serializeError(reason) })
    // Code that never yields receives no abort, so its thread is terminated.
    timer = setTimeout(() => void worker.terminate(), graceMs)
  }

  function endTurn({ isReusable }: { readonly isReusable: boolean }): void {
    hasEnded = true
    clearTimeout(timer)
    context.signal.removeEventListener('abort', stop)
    worker.off('message', handleMessage).off('error', fail).off('exit', handleExit)
    syncPort.close()
    worker.unref()
    if (isReusable) release(thread)
  }

  function fail(error: unknown): void {
    nextTurnMessage.reject(context.signal.aborted ? context.signal.reason : error)
    endTurn({ isReusable: false })
  }

  const handleExit = () => fail(new Error('The thread of the agent has ended'))

  function handleMessage(message: FromWorker): void {
    if (message.kind === 'call') void answerCall(message, { worker, context, syncPort, wakeFlag })
    else if (message.kind === 'log') context.log[message.level](message.fields, message.text)
    else if (message.kind === 'chunk') nextTurnMessage.resolve(message)
    else if (message.kind === 'end') finish(() => nextTurnMessage.resolve(message))
    else if (message.kind === 'fault') finish(() => nextTurnMessage.reject(deserializeError(message.error)))
  }

  function finish(settle: () => void): void {
    endTurn({ isReusable: true })
    settle()
  }

  worker.on('message', handleMessage).on('error', fail).on('exit', handleExit).ref()
  context.signal.addEventListener('abort', stop, { once: true })
  send(worker, { kind: 'turn', syncPort: workerPort, data: createSnapshot(message, context, wakeFlag) })
  return {
    next: () => nextTurnMessage.promise,
    requestNext() {
      nextTurnMessage = Promise.withResolvers()
      nextTurnMessage.promise.catch(() => undefined)
      send(worker, { kind: 'next' })
    },
    stop,
  }
}

interface CallDeps {
  readonly worker: Worker
  readonly context: AgentContext
  readonly syncPort: MessagePort
  readonly wakeFlag: SharedArrayBuffer
}

/** Runs a method of the context that the agent's thread calls. */
async function answerCall(
  { call, method, args }: Extract<FromWorker, { readonly kind: 'call' }>,
  { worker, context, syncPort, wakeFlag }: CallDeps,
): Promise<void> {
  const isSync = syncMethods.some(name => name === method)
  if (!isSync) return send(worker, { kind: 'result', call, outcome: await callMethodAsync(context, method, args) })
  syncPort.postMessage(callMethod(context, method, args))
  const flag = new Int32Array(wakeFlag)
  Atomics.store(flag, 0, 1)
  Atomics.notify(flag, 0)
}

function createSnapshot(message: NormalizedMessage, context: AgentContext, wakeFlag: SharedArrayBuffer) {
  const { thread, messageNumber, correlationId, traceparent, responseId, flags, person } = context
  return {
    message,
    view: context.history(),
    contextFields: { thread, messageNumber, correlationId, traceparent, responseId, flags },
    person: person && { id: person.id, addresses: person.addresses },
    hasPersonState: person?.state !== undefined,
    wakeFlag,
  }
}

function callMethod(context: AgentContext, method: ContextMethod, args: readonly unknown[]): CallOutcome {
  try {
    return { value: findMethod(context, method)(...args) }
  } catch (error) {
    return { error: serializeError(error) }
  }
}

async function callMethodAsync(
  context: AgentContext,
  method: ContextMethod,
  args: readonly unknown[],
): Promise<CallOutcome> {
  try {
    return { value: await findMethod(context, method)(...args) }
  } catch (error) {
    return { error: serializeError(error) }
  }
}

function findMethod(context: AgentContext, method: ContextMethod): (...args: readonly unknown[]) => unknown {
  const memberNames = method.split('.')
  const name = memberNames.pop() ?? ''
  const owner = memberNames.reduce<unknown>((object, member) => object?.[member as keyof typeof object], context)
  const member = (owner as Readonly<Record<string, unknown>> | undefined)?.[name]
  if (typeof member !== 'function') throw new TypeError(`The context has no ${method} in this turn`)
  return (...args) => member.apply(owner, args)
}
