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
import { noteOperatorModules } from '../../modules/operator-modules.ts'
import type { ContextMethod, FromThread, SentOutcome, ToThread } from './messages.ts'
import { directMethods, toSentError, toThrown } from './messages.ts'

const threadFile = new URL('./agent-thread.mjs', import.meta.url)

/** The time for a thread to stop by itself after its turn is over, ms. */
const graceMs = 500
/** The maximum number of threads that wait for their next turn. Any others end with their turn. */
const maxIdle = 4
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
  const idle: Thread[] = []
  const all = new Set<Worker>()

  async function start(): Promise<Thread> {
    const worker = new Worker(threadFile, {
      workerData: { url },
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    })
    all.add(worker)
    worker.once('exit', () => all.delete(worker))
    const loaded = await nextMessage(worker)
    if (loaded.kind === 'loaded') {
      noteOperatorModules(loaded.modules)
      // An idle thread must not keep the process alive.
      worker.unref()
      return { worker, exports: loaded.exports }
    }
    await worker.terminate()
    throw loaded.kind === 'unloadable' ? toThrown(loaded.error) : new Error('the thread of the agent did not load it')
  }

  async function take(): Promise<Thread> {
    for (;;) {
      const thread = idle.pop() ?? (await start())
      if (all.has(thread.worker)) return thread
    }
  }

  function give(thread: Thread): void {
    if (idle.length < maxIdle) idle.push(thread)
    else void thread.worker.terminate()
  }

  const first = await start()
  idle.push(first)
  return {
    exports: first.exports,
    agent: {
      handle: (message, context) => runTurn(message, context, { take, give }),
      ...(first.exports.includes('forget') && {
        forget: (forgotten, context) => runForgetting(forgotten, context, { take, give }),
      }),
    },
    async close() {
      await Promise.all([...all].map(closeThread))
    },
  }
}

async function closeThread(worker: Worker): Promise<void> {
  const timer = setTimeout(() => void worker.terminate(), graceMs)
  const closed = nextMessage(worker).catch(() => undefined)
  send(worker, { kind: 'close' })
  await closed
  clearTimeout(timer)
  await worker.terminate()
}

function send(worker: Worker, message: ToThread): void {
  worker.postMessage(message, message.kind === 'turn' ? [message.direct] : [])
}

function nextMessage(worker: Worker): Promise<FromThread> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('The thread of the agent has ended')))
  })
}

interface Threads {
  take(): Promise<Thread>
  give(thread: Thread): void
}

/** Runs one turn. The first message of the thread says whether the answer is a stream. */
async function runTurn(
  message: NormalizedMessage,
  context: AgentContext,
  threads: Threads,
): Promise<AgentAnswer | AsyncIterable<AgentChunk>> {
  const thread = await threads.take()
  const turn = openTurn(thread, message, context, threads)
  const first = await turn.next()
  if (first.kind === 'end' && !first.isStream) return first.value as AgentAnswer
  return streamTurn(first, turn)
}

/** Runs the deletion of a person's data, and terminates a thread that does not end in time. */
async function runForgetting(
  forgotten: ForgottenPerson,
  { id, signal, log }: ForgettingContext,
  { take, give }: Threads,
): Promise<void> {
  const thread = await take()
  const { worker } = thread
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const end = () => void worker.terminate()
  const hear = (said: FromThread) => {
    if (said.kind === 'log') log[said.level](said.fields, said.text)
    else if (said.kind === 'forgot') resolve()
    else if (said.kind === 'fault') reject(toThrown(said.error))
  }
  const exit = () => reject(signal.aborted ? signal.reason : new Error('The thread of the agent has ended'))
  worker.ref()
  worker.on('message', hear).on('error', reject).on('exit', exit)
  signal.addEventListener('abort', end, { once: true })
  send(worker, { kind: 'forget', forgotten, id })
  try {
    await promise
  } finally {
    signal.removeEventListener('abort', end)
    worker.off('message', hear).off('error', reject).off('exit', exit)
    worker.unref()
    give(thread)
  }
}

async function* streamTurn(
  first: Said,
  turn: ReturnType<typeof openTurn>,
): AsyncGenerator<AgentChunk, void, undefined> {
  try {
    for (let said = first; said.kind === 'chunk'; said = await turn.next()) {
      yield said.value as AgentChunk
      turn.goOn()
    }
  } finally {
    turn.leave()
  }
}

type Said = Extract<FromThread, { readonly kind: 'chunk' | 'end' }>

/** Opens one turn in one thread. */
function openTurn(thread: Thread, message: NormalizedMessage, context: AgentContext, { give }: Threads) {
  const { worker } = thread
  const { port1: direct, port2 } = new MessageChannel()
  const wake = new SharedArrayBuffer(4)
  let waiting = Promise.withResolvers<Said>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  waiting.promise.catch(() => undefined)

  function stop(): void {
    if (timer || isOver) return
    send(worker, { kind: 'abort', reason: toSentError(context.signal.reason ?? new Error('Nobody reads the answer')) })
    // Code that never yields receives no abort, so its thread is terminated.
    timer = setTimeout(() => void worker.terminate(), graceMs)
  }

  function end(hasThread: boolean): void {
    isOver = true
    clearTimeout(timer)
    context.signal.removeEventListener('abort', stop)
    worker.off('message', hear).off('error', fail).off('exit', exit)
    direct.close()
    worker.unref()
    if (hasThread) give(thread)
  }

  function fail(error: unknown): void {
    waiting.reject(context.signal.aborted ? context.signal.reason : error)
    end(false)
  }

  const exit = () => fail(new Error('The thread of the agent has ended'))

  function hear(said: FromThread): void {
    if (said.kind === 'call') void answerCall(said, { worker, context, direct, wake })
    else if (said.kind === 'log') context.log[said.level](said.fields, said.text)
    else if (said.kind === 'chunk') waiting.resolve(said)
    else if (said.kind === 'end') finish(() => waiting.resolve(said))
    else if (said.kind === 'fault') finish(() => waiting.reject(toThrown(said.error)))
  }

  function finish(settle: () => void): void {
    end(true)
    settle()
  }

  worker.ref()
  worker.on('message', hear).on('error', fail).on('exit', exit)
  context.signal.addEventListener('abort', stop, { once: true })
  send(worker, { kind: 'turn', direct: port2, data: describeTurn(message, context, wake) })
  return {
    next: () => waiting.promise,
    goOn() {
      waiting = Promise.withResolvers()
      waiting.promise.catch(() => undefined)
      send(worker, { kind: 'next' })
    },
    leave: stop,
  }
}

interface CallDeps {
  readonly worker: Worker
  readonly context: AgentContext
  readonly direct: MessagePort
  readonly wake: SharedArrayBuffer
}

/** Runs a method of the context that the agent's thread calls. */
async function answerCall(
  { call, method, args }: Extract<FromThread, { readonly kind: 'call' }>,
  { worker, context, direct, wake }: CallDeps,
): Promise<void> {
  const isDirect = directMethods.some(name => name === method)
  if (!isDirect) return send(worker, { kind: 'result', call, outcome: await tryLater(context, method, args) })
  direct.postMessage(tryNow(context, method, args))
  const woken = new Int32Array(wake)
  Atomics.store(woken, 0, 1)
  Atomics.notify(woken, 0)
}

function describeTurn(message: NormalizedMessage, context: AgentContext, wake: SharedArrayBuffer) {
  const { thread, messageNumber, correlationId, traceparent, responseId, flags, person } = context
  return {
    message,
    view: context.history(),
    facts: { thread, messageNumber, correlationId, traceparent, responseId, flags },
    person: person && { id: person.id, addresses: person.addresses },
    hasPersonState: person?.state !== undefined,
    wake,
  }
}

function tryNow(context: AgentContext, method: ContextMethod, args: readonly unknown[]): SentOutcome {
  try {
    return { value: findMethod(context, method)(...args) }
  } catch (error) {
    return { error: toSentError(error) }
  }
}

async function tryLater(context: AgentContext, method: ContextMethod, args: readonly unknown[]): Promise<SentOutcome> {
  try {
    return { value: await findMethod(context, method)(...args) }
  } catch (error) {
    return { error: toSentError(error) }
  }
}

function findMethod(context: AgentContext, method: ContextMethod): (...args: readonly unknown[]) => unknown {
  const path = method.split('.')
  const name = path.pop() ?? ''
  const owner = path.reduce<unknown>((object, member) => object?.[member as keyof typeof object], context)
  const member = (owner as Readonly<Record<string, unknown>> | undefined)?.[name]
  if (typeof member !== 'function') throw new TypeError(`The context has no ${method} in this turn`)
  return (...args) => member.apply(owner, args)
}
