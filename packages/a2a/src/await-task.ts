import type { Desk, TaskKey, TaskRecord, World } from '@postern/core'
import { isTerminal } from './states.ts'

export interface TaskWait {
  readonly key: TaskKey
  /** Our number of the message whose turn is awaited, and its own id. */
  readonly message: number
  readonly messageId: string
  /** The turn may have ended before anybody listened. */
  readonly mayBeOver: boolean
  readonly waitMs: number
}

/** Waits for turns in the call that caused them. */
export interface TaskWaiter {
  /** The task once the message's turn has ended, or as it is when the time is up; undefined when it is gone. */
  awaitTask(wait: TaskWait): Promise<TaskRecord | undefined>
  /** Ends every wait: each answers with the task as it is. */
  close(): void
}

type WaitDesk = Pick<Desk, 'listen' | 'findTask'>

/** Between looks at the desk, ms: a notice is a hint that may be lost, the truth is in the desk. */
const looks = { first: 100, longest: 2_000 } as const
const endings: ReadonlySet<unknown> = new Set(['settled', 'canceled'])

export function createTaskWaiter(desk: WaitDesk, world: Pick<World, 'sleep'>): TaskWaiter {
  const waiting = new Set<AbortController>()

  async function awaitTask(wait: TaskWait): Promise<TaskRecord | undefined> {
    const ended = new AbortController()
    waiting.add(ended)
    const unlisten = desk.listen(`message:${wait.message}`, notice => {
      if (endings.has((notice as { readonly kind?: unknown } | undefined)?.kind)) ended.abort()
    })
    try {
      return await lookUntil(wait, ended.signal)
    } finally {
      unlisten()
      waiting.delete(ended)
    }
  }

  async function lookUntil({ key, messageId, mayBeOver, waitMs }: TaskWait, ended: AbortSignal) {
    const early = mayBeOver ? await desk.findTask(key) : undefined
    if (early && isAnswered(early, messageId)) return early
    let left = waitMs
    for (let pause: number = looks.first; left > 0 && !ended.aborted; pause = Math.min(pause * 2, looks.longest)) {
      const step = Math.min(pause, left)
      await world.sleep(step, ended)
      left -= step
      if (ended.aborted) break
      const task = await desk.findTask(key)
      if (!task || isAnswered(task, messageId)) return task
    }
    return desk.findTask(key)
  }

  return {
    awaitTask,
    close() {
      for (const wait of waiting) wait.abort()
    },
  }
}

/** Over for good, or something was said after the message. */
function isAnswered({ state, entries }: TaskRecord, messageId: string): boolean {
  if (isTerminal(state)) return true
  const asked = entries.findLastIndex(({ role, nativeId }) => role === 'user' && nativeId === messageId)
  return asked >= 0 && entries.slice(asked + 1).some(({ role }) => role === 'assistant')
}
