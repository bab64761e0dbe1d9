// Queues the notices for other gateways, and sends many of them together.
import { setTimeout as delay } from 'node:timers/promises'
import type { ChangeKind } from '@postern/pipeline'
import type { Notice, TransactionNotices } from '../../transaction/notices.ts'
import { listNotices, noteChange } from '../../transaction/notices.ts'
import { formatNotice } from './notify.ts'

interface NotifyQueue {
  /**
   * Adds the notices of a transaction that has committed. Equal notices are merged, and notices of a failed transmission are sent again: they stay true,
   * because an edit names the lease that it ended, and the others ask for a look at the database or report the end of a turn.
   */
  announce(notices: TransactionNotices): void
  /** Adds a notice about running work. It is sent at most once, so that no reader gets the same piece of an answer twice. */
  notify(notice: Notice): void
  /** Resolves when the queue is empty. */
  waitUntilSent(): Promise<void>
}

/**
 * The shortest time between two transmissions, ms. The server handles each as a transaction, during which no other transaction with notices commits.
 */
const mergeMs = 5
/** The time until the next transmission after a failed one, ms. */
const retryMs = 250
/**
 * The bounds of a queue while the server is unreachable. Further notices are dropped, except those of ready work. Other gateways find the changes by
 * polls.
 */
export const [maxNotices, maxChars] = [10_000, 4_000_000]

/**
 * Creates a queue. A notice leaves at once, unless another transmission has just begun.
 * @param send sends formatted notices, and returns false if it failed
 */
export function createNotifyQueue(send: (texts: readonly string[]) => Promise<boolean>): NotifyQueue {
  let pending = createPendingNotices()
  let sending: Promise<void> | undefined

  async function sendAll(): Promise<void> {
    while (!pending.isEmpty()) {
      const sent = pending
      pending = createPendingNotices()
      const hasSent = await send(sent.format())
      if (!hasSent) {
        const newer = pending
        pending = createPendingNotices()
        sent.moveTo(pending, 'repeatable')
        newer.moveTo(pending, 'all')
      }
      await delay(hasSent ? mergeMs : retryMs, undefined, { ref: false })
    }
    sending = undefined
  }

  function startSending(): void {
    if (!pending.isEmpty()) sending ??= sendAll()
  }

  return {
    announce(batch) {
      pending.addBatch(batch)
      startSending()
    },
    notify(notice) {
      pending.addText({ text: formatNotice(notice), isRepeatable: false })
      startSending()
    },
    async waitUntilSent() {
      await sending
    },
  }
}

/** A formatted notice. Its text is undefined if JSON cannot express it. */
interface FormattedNotice {
  readonly text: string | undefined
  readonly isRepeatable: boolean
}

interface PendingNotices {
  isEmpty(): boolean
  addText(notice: FormattedNotice): void
  addBatch(batch: TransactionNotices): void
  /** Formats all notices, in their order, with those of work and changes at the end. */
  format(): readonly string[]
  /** Adds the notices to `other`: all of them, or only those that may be sent twice. */
  moveTo(other: PendingNotices, selection: 'all' | 'repeatable'): void
}

function createPendingNotices(): PendingNotices {
  const formattedNotices: FormattedNotice[] = []
  const repeatableTexts = new Set<string>()
  const common: TransactionNotices = { notices: [], readyWork: new Set(), changes: new Map<ChangeKind, Set<number>>() }
  let [count, chars] = [0, 0]

  const isFull = () => count >= maxNotices || chars >= maxChars
  const listRepeatable = () => formattedNotices.filter(({ isRepeatable }) => isRepeatable)

  function addText(notice: FormattedNotice): void {
    const { text, isRepeatable } = notice
    if (text === undefined || isFull() || (isRepeatable && repeatableTexts.has(text))) return
    if (isRepeatable) repeatableTexts.add(text)
    formattedNotices.push(notice)
    count += 1
    chars += text.length
  }

  function addChange(kind: ChangeKind, number: number): void {
    if (isFull() || common.changes.get(kind)?.has(number)) return
    noteChange(common, kind, number)
    count += 1
  }

  return {
    isEmpty: () => formattedNotices.length === 0 && common.readyWork.size === 0 && common.changes.size === 0,
    addText,
    addBatch({ notices, readyWork, changes }) {
      for (const { topic, payload } of notices) addText({ text: formatNotice({ topic, payload }), isRepeatable: true })
      for (const kind of readyWork) common.readyWork.add(kind)
      for (const [kind, numbers] of changes) for (const number of numbers) addChange(kind, number)
    },
    format: () =>
      [...formattedNotices.map(({ text }) => text), ...listNotices(common).map(formatNotice)].filter(isText),
    moveTo(other, selection) {
      for (const notice of selection === 'all' ? formattedNotices : listRepeatable()) other.addText(notice)
      other.addBatch(common)
    },
  }
}

const isText = (text: string | undefined): text is string => text !== undefined
