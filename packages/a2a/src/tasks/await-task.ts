import type { Platform, Store, TaskKey, TaskRecord } from '@postern/core'
import { isAtRest } from '../format/states.ts'
import { listOpenMessages } from './open-messages.ts'

interface TaskWait {
  readonly key: TaskKey
  /** Our number of the message whose turn is awaited. */
  readonly message: number
  /** The turn may have ended before anybody listened. */
  readonly mayBeOver: boolean
  readonly waitMs: number
}

/** Waits for tasks in the calls that caused their turns. */
export interface TaskWaiter {
  /** The task once it is at rest (A2A §3.2.2), or as it is when the time is up; undefined when it is gone. */
  awaitTask(wait: TaskWait): Promise<TaskRecord | undefined>
  /** Ends every wait: each answers with the task as it is. */
  close(): void
}

/** One clock serves all waits, so that a call costs no timer of its own. */
const tickMs = 250

const endings: ReadonlySet<unknown> = new Set(['settled', 'canceled'])

interface Notice {
  readonly kind?: unknown
  /** The task as the end of the turn left it, where the store is so kind. */
  readonly task?: TaskRecord | undefined
}

interface OpenWait {
  /** One tick has gone by. */
  pass(): void
  end(task?: TaskRecord): void
}

export function createTaskWaiter(
  store: Pick<Store, 'listen' | 'findTask'>,
  platform: Pick<Platform, 'sleep'>,
): TaskWaiter {
  const open = new Set<OpenWait>()
  const closing = new AbortController()
  let isTicking = false

  async function tick(): Promise<void> {
    if (isTicking) return
    isTicking = true
    while (open.size > 0 && !closing.signal.aborted) {
      await platform.sleep(tickMs, closing.signal)
      for (const wait of open) wait.pass()
    }
    isTicking = false
  }

  function beginWait({ key, message, mayBeOver, waitMs }: TaskWait, onEnd: (task?: TaskRecord) => void): void {
    const heard = new Map<number, () => void>()
    let ticks = 0
    const look = async () => {
      // An error ends the wait too: the last look, which everybody takes, will tell it.
      const task = await store.findTask(key).catch(() => undefined)
      if (!task || isSettled(task)) wait.end()
      else if (open.has(wait)) hearAll(listOpenMessages(task))
    }
    /** Other messages may go on with the same task meanwhile. */
    const hearAll = (messages: readonly number[]) => {
      const others = messages.filter(number => !heard.has(number))
      for (const number of others) heard.set(number, store.listen(`message:${number}`, takeNotice))
      // One of them may have ended in between.
      if (others.length > 0) void look()
    }
    const takeNotice = (notice: unknown) => {
      const { kind, task } = (notice ?? {}) as Notice
      if (!endings.has(kind)) return
      if (task && isSettled(task)) wait.end(task)
      else void look()
    }
    const wait: OpenWait = {
      pass() {
        ticks += 1
        if (ticks * tickMs >= waitMs) wait.end()
        else if (isLookDue(ticks)) void look()
      },
      end(task) {
        if (!open.delete(wait)) return
        for (const unlisten of heard.values()) unlisten()
        onEnd(task)
      },
    }
    open.add(wait)
    heard.set(message, store.listen(`message:${message}`, takeNotice))
    if (mayBeOver) void look()
    void tick()
  }

  return {
    async awaitTask(wait) {
      if (closing.signal.aborted) return store.findTask(wait.key)
      const task = await new Promise<TaskRecord | undefined>(resolve => beginWait(wait, resolve))
      return task ?? store.findTask(wait.key)
    },
    close() {
      closing.abort()
      for (const wait of open) wait.end()
    },
  }
}

/** A notice is a hint that may be lost, the truth is in the store: looked at seldom, and ever more seldom. */
export function isLookDue(ticks: number): boolean {
  return (ticks & (ticks - 1)) === 0 || ticks % 8 === 0
}

/** At rest, or left by an agent that says it goes on outside of any turn: nothing more comes of the messages there are. */
export function isSettled(task: TaskRecord): boolean {
  const { state, response } = task
  if (isAtRest(state)) return true
  if (state !== 'working' || response?.status !== 'working') return false
  return task.entries.findLast(({ role }) => role === 'user')?.nativeId === response.in_reply_to
}
