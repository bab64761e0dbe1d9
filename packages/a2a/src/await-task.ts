import type { Desk, TaskKey, TaskRecord, World } from '@postern/core'
import { isAtRest } from './states.ts'

export interface TaskWait {
  readonly key: TaskKey
  /** Our number of the message whose turn is awaited, and its own id. */
  readonly message: number
  readonly messageId: string
  /** The turn may have ended before anybody listened. */
  readonly mayBeOver: boolean
  readonly waitMs: number
}

/** Waits for turns in the calls that caused them. */
export interface TaskWaiter {
  /** The task once the message's turn has ended, or as it is when the time is up; undefined when it is gone. */
  awaitTask(wait: TaskWait): Promise<TaskRecord | undefined>
  /** Ends every wait: each answers with the task as it is. */
  close(): void
}

/** One clock serves all waits, so that a call costs no timer of its own. */
const tickMs = 250

const endings: ReadonlySet<unknown> = new Set(['settled', 'canceled'])

interface Notice {
  readonly kind?: unknown
  /** The task as the end of the turn left it, where the desk is so kind. */
  readonly task?: TaskRecord | undefined
}

interface OpenWait {
  /** One tick has gone by. */
  pass(): void
  end(task?: TaskRecord): void
}

export function createTaskWaiter(desk: Pick<Desk, 'listen' | 'findTask'>, world: Pick<World, 'sleep'>): TaskWaiter {
  const open = new Set<OpenWait>()
  const closing = new AbortController()
  let isTicking = false

  async function tick(): Promise<void> {
    if (isTicking) return
    isTicking = true
    while (open.size > 0 && !closing.signal.aborted) {
      await world.sleep(tickMs, closing.signal)
      for (const wait of open) wait.pass()
    }
    isTicking = false
  }

  function beginWait(
    { key, message, messageId, mayBeOver, waitMs }: TaskWait,
    onEnd: (task?: TaskRecord) => void,
  ): void {
    let ticks = 0
    const look = async () => {
      // An error ends the wait too: the last look, which everybody takes, will tell it.
      const task = await desk.findTask(key).catch(() => undefined)
      if (!task || isAnswered(task, messageId)) wait.end()
    }
    const unlisten = desk.listen(`message:${message}`, notice => {
      const { kind, task } = (notice ?? {}) as Notice
      if (endings.has(kind)) wait.end(task)
    })
    const wait: OpenWait = {
      pass() {
        ticks += 1
        if (ticks * tickMs >= waitMs) wait.end()
        else if (isLookDue(ticks)) void look()
      },
      end(task) {
        unlisten()
        open.delete(wait)
        onEnd(task)
      },
    }
    open.add(wait)
    if (mayBeOver) void look()
    void tick()
  }

  return {
    async awaitTask(wait) {
      if (closing.signal.aborted) return desk.findTask(wait.key)
      const task = await new Promise<TaskRecord | undefined>(resolve => beginWait(wait, resolve))
      return task ?? desk.findTask(wait.key)
    },
    close() {
      closing.abort()
      for (const wait of open) wait.end()
    },
  }
}

/** A notice is a hint that may be lost, the truth is in the desk: looked at seldom, and ever more seldom. */
export function isLookDue(ticks: number): boolean {
  return (ticks & (ticks - 1)) === 0 || ticks % 8 === 0
}

/** The message has its answer, or none of the task's messages waits for one any more. */
function isAnswered({ state, response }: TaskRecord, messageId: string): boolean {
  return isAtRest(state) || response?.in_reply_to === messageId
}
