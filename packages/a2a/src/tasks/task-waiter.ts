// Waits until the task of a call has ended or waits for the client.
import type { System } from '@postern/message'
import type { SettledTask, Store, TaskKey, TaskRecord } from '@postern/pipeline'
import { readAbortKind } from '@postern/pipeline'
import { statesAtRest } from '../format/wire.ts'

interface TaskWait {
  readonly key: TaskKey
  /** The message with the turn that the call waits for. */
  readonly message: number
  /** True if the turn may have ended before the wait began. */
  readonly mayHaveEnded: boolean
  readonly waitMs: number
  /** Returns true if the agent is paused and begins no turn now. */
  isPaused?(): boolean
  /** True if the caller wants the messages of the task, too. */
  readonly needsEntries: boolean
}

export type TaskWaiter = ReturnType<typeof createTaskWaiter>

/** The period of the one timer that serves all waits, ms. */
const tickMs = 250

interface Notice {
  readonly kind?: unknown
  /** The task after the turn. Absent if the notice of the store does not contain it. */
  readonly task?: SettledTask | undefined
}

interface WaitState {
  readonly store: Pick<Store, 'listen' | 'findTask'>
  readonly openWaits: Set<OpenWait>
  readonly shutdownSignal: AbortSignal
  isTicking: boolean
}

interface OpenWait extends TaskWait {
  readonly waiterState: WaitState
  /** The functions that end the subscription of each message. */
  readonly stopByMessage: Map<number, () => void>
  readonly onEnd: (task?: SettledTask) => void
  ticks: number
}

/** Creates the waiter. One waiter serves all calls. */
export function createTaskWaiter(store: WaitState['store'], system: Pick<System, 'sleep'>) {
  const shutdown = new AbortController()
  const waits: WaitState = { store, openWaits: new Set(), shutdownSignal: shutdown.signal, isTicking: false }
  return {
    /**
     * Returns the task once it is at rest (A2A §3.2.2), or its present state if the time is up or its agent is paused. It returns undefined if
     * the task no longer exists.
     */
    async awaitTask(wait: TaskWait): Promise<SettledTask | undefined> {
      if (shutdown.signal.aborted) return store.findTask(wait.key)
      const task = await new Promise<SettledTask | undefined>(resolve => {
        beginWait({ ...wait, waiterState: waits, stopByMessage: new Map(), onEnd: resolve, ticks: 0 })
        void runTicks(waits, system)
      })
      return task ?? store.findTask(wait.key)
    },
    /** Ends every wait. Each one returns the present task. */
    close(): void {
      shutdown.abort()
      for (const wait of waits.openWaits) endWait(wait)
    },
  }
}

function beginWait(wait: OpenWait): void {
  wait.waiterState.openWaits.add(wait)
  listenToMessage(wait.message, wait)
  if (wait.mayHaveEnded || wait.isPaused?.()) void queryTask(wait)
}

function listenToMessage(message: number, wait: OpenWait): void {
  const stopListening = wait.waiterState.store.listen(`message:${message}`, notice => handleNotice(notice, wait))
  wait.stopByMessage.set(message, stopListening)
}

function handleNotice(notice: unknown, wait: OpenWait): void {
  const { kind, task } = (notice ?? {}) as Notice
  if (kind !== 'settled' && readAbortKind(notice) === undefined) return
  if (task && isSettled(task) && (!wait.needsEntries || task.entries)) endWait(wait, task)
  else void queryTask(wait)
}

async function queryTask(wait: OpenWait): Promise<void> {
  const { store, openWaits } = wait.waiterState
  // An error ends the wait too, because the final query of each call throws it.
  const task = await store.findTask(wait.key).catch(() => undefined)
  if (!task || isSettled(task) || (task.state === 'submitted' && wait.isPaused?.())) endWait(wait, task)
  else if (openWaits.has(wait)) listenToNewMessages(listOpenMessages(task), wait)
}

/** Listens to newer messages, which may continue the same task in the meantime. */
function listenToNewMessages(messages: readonly number[], wait: OpenWait): void {
  const newMessages = messages.filter(message => !wait.stopByMessage.has(message))
  for (const message of newMessages) listenToMessage(message, wait)
  // A turn of these messages may have ended in between.
  if (newMessages.length > 0) void queryTask(wait)
}

function endWait(wait: OpenWait, task?: SettledTask): void {
  if (!wait.waiterState.openWaits.delete(wait)) return
  for (const stopListening of wait.stopByMessage.values()) stopListening()
  wait.onEnd(task)
}

async function runTicks(waits: WaitState, system: Pick<System, 'sleep'>): Promise<void> {
  if (waits.isTicking) return
  waits.isTicking = true
  while (waits.openWaits.size > 0 && !waits.shutdownSignal.aborted) {
    await system.sleep(tickMs, waits.shutdownSignal)
    for (const wait of waits.openWaits) tickWait(wait)
  }
  waits.isTicking = false
}

function tickWait(wait: OpenWait): void {
  wait.ticks += 1
  if (wait.ticks * tickMs >= wait.waitMs) endWait(wait)
  else if (isQueryDue(wait.ticks)) void queryTask(wait)
}

/** Returns true if the store is queried after this number of ticks: after a second, and then every other second, because notices may be lost. */
export function isQueryDue(ticks: number): boolean {
  return ticks === 4 || ticks % 8 === 0
}

/** Returns true if no turn can change a task, because the task is at rest, or its agent works outside of any turn. */
export function isSettled(task: SettledTask): boolean {
  const { state, response } = task
  if (statesAtRest.has(state)) return true
  if (state !== 'working' || response?.status !== 'working') return false
  return task.entries?.findLast(({ role }) => role === 'user')?.nativeId === response.in_reply_to
}

/** The number of the newest messages of a long task that can be open. */
const maxOpenMessages = 16

/** Lists the numbers of messages with turns that may be open. The store numbers messages by their entries. */
export function listOpenMessages({ entries }: TaskRecord): readonly number[] {
  return entries
    .filter(({ role }) => role === 'user')
    .slice(-maxOpenMessages)
    .map(({ seq }) => seq)
}
