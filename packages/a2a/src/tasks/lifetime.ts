import type { Platform, SettledTask, Store, TaskExpiry, TaskKey, TaskRecord } from '@postern/core'
import { makeId } from '@postern/core'
import { restStates } from '../format/wire.ts'

interface TaskWait {
  readonly key: TaskKey
  /** The message whose turn the call waits for. */
  readonly message: number
  /** The turn may have ended before the wait began. */
  readonly mayBeOver: boolean
  readonly waitMs: number
  /** The caller wants what was said in the task, too. */
  readonly needsEntries: boolean
}

export type TaskWaiter = ReturnType<typeof createTaskWaiter>

/** One timer serves all waits, so that a call costs none of its own. */
const tickMs = 250

const endings: ReadonlySet<unknown> = new Set(['settled', 'canceled'])

interface Notice {
  readonly kind?: unknown
  /** The task after the turn, if the store adds it. */
  readonly task?: SettledTask | undefined
}

interface WaitState {
  readonly store: Pick<Store, 'listen' | 'findTask'>
  readonly open: Set<OpenWait>
  readonly closing: AbortSignal
  isTicking: boolean
}

interface OpenWait extends TaskWait {
  readonly waits: WaitState
  /** Ends the subscription of each message. */
  readonly heard: Map<number, () => void>
  readonly onEnd: (task?: SettledTask) => void
  ticks: number
}

/** Waits for tasks in the calls that caused their turns. */
export function createTaskWaiter(store: WaitState['store'], platform: Pick<Platform, 'sleep'>) {
  const closing = new AbortController()
  const waits: WaitState = { store, open: new Set(), closing: closing.signal, isTicking: false }
  return {
    /** The task once it is at rest (A2A §3.2.2), or its state when the time is up; undefined when it is gone. */
    async awaitTask(wait: TaskWait): Promise<SettledTask | undefined> {
      if (closing.signal.aborted) return store.findTask(wait.key)
      const task = await new Promise<SettledTask | undefined>(resolve => {
        beginWait({ ...wait, waits, heard: new Map(), onEnd: resolve, ticks: 0 })
        void tick(waits, platform)
      })
      return task ?? store.findTask(wait.key)
    },
    /** Ends every wait: each answers with the present task. */
    close(): void {
      closing.abort()
      for (const wait of waits.open) endWait(wait)
    },
  }
}

function beginWait(wait: OpenWait): void {
  wait.waits.open.add(wait)
  hear(wait.message, wait)
  if (wait.mayBeOver) void look(wait)
}

function hear(message: number, wait: OpenWait): void {
  const unlisten = wait.waits.store.listen(`message:${message}`, notice => takeNotice(notice, wait))
  wait.heard.set(message, unlisten)
}

function takeNotice(notice: unknown, wait: OpenWait): void {
  const { kind, task } = (notice ?? {}) as Notice
  if (!endings.has(kind)) return
  if (task && isSettled(task) && (!wait.needsEntries || task.entries)) endWait(wait, task)
  else void look(wait)
}

async function look(wait: OpenWait): Promise<void> {
  const { store, open } = wait.waits
  // An error ends the wait, too: the last look of each call throws it.
  const task = await store.findTask(wait.key).catch(() => undefined)
  if (!task || isSettled(task)) endWait(wait, task)
  else if (open.has(wait)) hearOthers(listOpenMessages(task), wait)
}

/** Other messages may continue the same task meanwhile. */
function hearOthers(messages: readonly number[], wait: OpenWait): void {
  const others = messages.filter(message => !wait.heard.has(message))
  for (const message of others) hear(message, wait)
  // One of them may have ended in between.
  if (others.length > 0) void look(wait)
}

function endWait(wait: OpenWait, task?: SettledTask): void {
  if (!wait.waits.open.delete(wait)) return
  for (const unlisten of wait.heard.values()) unlisten()
  wait.onEnd(task)
}

async function tick(waits: WaitState, platform: Pick<Platform, 'sleep'>): Promise<void> {
  if (waits.isTicking) return
  waits.isTicking = true
  while (waits.open.size > 0 && !waits.closing.aborted) {
    await platform.sleep(tickMs, waits.closing)
    for (const wait of waits.open) pass(wait)
  }
  waits.isTicking = false
}

function pass(wait: OpenWait): void {
  wait.ticks += 1
  if (wait.ticks * tickMs >= wait.waitMs) endWait(wait)
  else if (isLookDue(wait.ticks)) void look(wait)
}

/** Notices may get lost, so the store is read as well: after a second, and from then on every other second. */
export function isLookDue(ticks: number): boolean {
  return ticks === 4 || ticks % 8 === 0
}

/** At rest, or working outside of any turn: no present message will change the task. */
export function isSettled(task: SettledTask): boolean {
  const { state, response } = task
  if (restStates.has(state)) return true
  if (state !== 'working' || response?.status !== 'working') return false
  return task.entries?.findLast(({ role }) => role === 'user')?.nativeId === response.in_reply_to
}

/** Only the newest messages of a long task can be open. */
const newest = 16

/** The numbers of messages whose turns may be open. The store numbers messages by their entries. */
export function listOpenMessages({ entries }: TaskRecord): readonly number[] {
  return entries
    .filter(({ role }) => role === 'user')
    .slice(-newest)
    .map(({ seq }) => seq)
}

interface ExpiryRules {
  /** Tasks without activity for so long expire, ms; 0: none do. */
  readonly taskMs: number
  /** Tasks kept for one owner. */
  readonly most: number
  /** Bytes kept for one owner, attachments included. */
  readonly bytes: number
}

interface ExpiryDeps {
  readonly store: Pick<Store, 'expireTasks'>
  readonly platform: Pick<Platform, 'now' | 'sleep' | 'log'>
}

export type Expiry = ReturnType<typeof createExpiry>

const sweepMs = 60_000
/** Pause between two slices, for other work, ms. */
const pauseMs = 20
const sliceSize = 50
/** An owner that sends this part of their quota is checked at once. */
const hasty = 1 / 8

/** Keeps the store bounded: once a minute, and after many bytes at once, it removes expired tasks and those beyond an owner's quota. */
export function createExpiry({ store, platform }: ExpiryDeps, { taskMs, most, bytes: mostBytes }: ExpiryRules) {
  const closing = new AbortController()
  /** Bytes of each owner since the last sweep. The store has taken a message for every one of them, so they are few. */
  let owners = new Map<string, number>()
  let nap = new AbortController()

  async function takeAll(expiry: TaskExpiry): Promise<void> {
    for (let isDone = false; !isDone && !closing.signal.aborted; ) {
      const slice = await store.expireTasks(expiry)
      isDone = slice.isDone
      if (!isDone) await platform.sleep(pauseMs, closing.signal)
    }
  }

  async function sweep(): Promise<void> {
    if (taskMs > 0) await takeAll({ before: platform.now() - taskMs, limit: sliceSize })
    const noted = owners
    owners = new Map()
    for (const owner of noted.keys()) {
      await takeAll({ owner, most, limit: sliceSize })
      await takeAll({ owner, bytes: mostBytes, limit: sliceSize })
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await platform.sleep(sweepMs, nap.signal)
      nap = new AbortController()
      if (closing.signal.aborted) return
      await sweep().catch(err => platform.log.warn({ err, via: 'a2a' }, 'old tasks could not be taken out'))
    }
  }

  void run()
  return {
    /** Counts the bytes of this owner's new message. */
    note(owner: string, bytes: number): void {
      const sum = (owners.get(owner) ?? 0) + bytes
      owners.set(owner, sum)
      if (sum >= mostBytes * hasty) nap.abort()
    },
    close(): void {
      closing.abort()
      nap.abort()
    },
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A UUID that begins with the time (RFC 9562 §5.7); nobody can guess the 74 bits behind it. */
export function makeTaskId(platform: Pick<Platform, 'now' | 'randomBytes'>): string {
  const hex = makeId(platform)
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

/** Whether this has the form of our task ids. */
export function isTaskId(id: string): boolean {
  return uuid.test(id)
}
