import { parentPort, workerData } from 'node:worker_threads'
import type { LineThreadData, Question, StatementAnswer } from '../src/postgres/connection/messages.ts'

// A connection that gives back whose rows it was asked for, and does with its answers what the first value says.

const { port, answers } = workerData as LineThreadData
let last: StatementAnswer | undefined
let late: StatementAnswer | undefined

function raise(): void {
  Atomics.add(answers, 0, 1)
  Atomics.notify(answers, 0)
}

function give(answer: StatementAnswer): void {
  port.postMessage(answer)
  raise()
}

const manners: Readonly<Record<string, (answer: StatementAnswer) => void>> = {
  prompt: give,
  /** Just before that of the next question. */
  late(answer) {
    late = answer
  },
  /** Wakes whoever waits before there is anything to be read, as a wake-up of an earlier answer may. */
  woken(answer) {
    raise()
    Atomics.notify(answers, 0)
    setTimeout(() => {
      Atomics.notify(answers, 0)
      setTimeout(give, 50, answer)
    }, 50)
  },
  twice(answer) {
    give(answer)
    give(answer)
  },
  former: answer => give(last ?? answer),
  never() {},
}

port.on('message', ({ id, steps, isAwaited }: Question) => {
  if (!isAwaited) return
  if (late) give(late)
  late = undefined
  const [manner, owner] = steps[0]?.values ?? []
  const rows = [{ owner: owner ?? null, text: steps[0]?.text ?? null }]
  const answer = { id, results: [{ rows, changes: 0, tag: 'SELECT 1' }] }
  manners[String(manner)]?.(answer)
  last = answer
})
parentPort?.on('message', (message: unknown) => {
  if (message === 'close') process.exit()
})
