import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { LineEvent, LineThreadData, StatementAnswer, StatementRequest } from './messages.ts'

interface ConnectionThread {
  /** Waits, and nothing else runs in this thread meanwhile. @returns nothing when there is no answer in time, or only one to another question */
  ask(asked: StatementRequest): StatementAnswer | undefined
  tell(asked: StatementRequest): void
  announce(payloads: readonly string[]): void
  /** Lets what has begun end first. */
  close(): Promise<void>
  /** Gives the connection up as it is: nothing of it is heard any more. */
  abandon(): void
}

export interface ThreadOptions extends Pick<LineThreadData, 'server' | 'schema' | 'holder'> {
  /** Another program for the thread, as tests have it. */
  readonly program?: URL | undefined
  /** How long an answer may take, ms. */
  readonly longestWaitMs?: number | undefined
}

/** Longer than the thread itself waits for a server: it always answers, unless it is gone. */
const usualWaitMs = 90_000

/** Starts the thread that owns the connections. Statements are told to it once, questions and answers bear one number. */
export function startConnectionThread(
  { program = new URL('./worker.ts', import.meta.url), longestWaitMs = usualWaitMs, ...address }: ThreadOptions,
  onEvent: (event: LineEvent) => void,
): ConnectionThread {
  const { port1, port2 } = new MessageChannel()
  const answers = new Int32Array(new SharedArrayBuffer(4))
  const data: LineThreadData = { ...address, port: port2, answers }
  const worker = new Worker(program, { workerData: data, transferList: [port2] })
  const exited = new Promise<void>(resolve => worker.once('exit', () => resolve()))
  // An error that ends it ends this thread, too: nobody listens for it.
  const told = new Set<number>()
  let lastId = 0
  let isAbandoned = false
  worker.on('message', (event: LineEvent) => {
    if (!isAbandoned) onEvent(event)
  })
  port1.unref()

  function post(asked: StatementRequest, isAwaited: boolean): number {
    lastId += 1
    const steps = asked.steps.map(step => (told.has(step.id) ? { ...step, text: undefined } : step))
    for (const { id } of steps) told.add(id)
    port1.postMessage({ id: lastId, steps, isBeginning: asked.isBeginning, isAwaited })
    return lastId
  }

  function receive(): StatementAnswer | undefined {
    const until = performance.now() + longestWaitMs
    for (;;) {
      // Counted before it is looked at: a wake-up may be late, and tells nothing by itself.
      const count = Atomics.load(answers, 0)
      const received = receiveMessageOnPort(port1) as { readonly message: StatementAnswer } | undefined
      const leftMs = until - performance.now()
      if (received || leftMs <= 0) return received?.message
      Atomics.wait(answers, 0, count, leftMs)
    }
  }

  return {
    ask(asked) {
      const id = post(asked, true)
      const answer = receive()
      return answer?.id === id ? answer : undefined
    },
    tell: asked => void post(asked, false),
    announce: payloads => worker.postMessage(payloads),
    async close() {
      worker.postMessage('close')
      await exited
      port1.close()
    },
    abandon() {
      isAbandoned = true
      port1.close()
      void worker.terminate()
    },
  }
}
