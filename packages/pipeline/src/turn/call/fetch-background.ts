// Fetches the files and the earlier entries to which a message refers, before the call of its agent.

import type { Part } from '@postern/message'
import {
  invisibleFlag,
  isFilePart,
  readVisibleParts,
  readVisibleValue,
  toQuotedText,
  toWellFormed,
} from '@postern/message'
import { storeLinkedFiles } from '../../actions/plan-actions.ts'
import { findChannel } from '../../ports/channel/channel.ts'
import type { BackgroundEntry } from '../../ports/records/transcript.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'

interface Fetched {
  /** True if the thread may have entries now that precede the message elsewhere. */
  readonly hasBackground: boolean
  /** The parts of the message, whose linked files are stored. */
  readonly fetchedParts: readonly Part[]
}

/** Fetches everything to which a message refers. Returns undefined for most messages, which refer to nothing. */
export function fetchReferenced(
  turn: Turn,
  turnContext: TurnContext,
  signal: AbortSignal,
): Promise<Fetched> | undefined {
  const { parts } = turn.content
  const storingFiles =
    turnContext.fetchFile && parts.some(isFilePart) ? storeLinkedFiles(turn, turnContext, signal) : undefined
  const fetchingBackground = beginBackground(turn, turnContext, signal)
  if (!storingFiles && !fetchingBackground) return undefined
  const addingBackground = fetchingBackground ? addBackground(turn, turnContext, fetchingBackground) : false
  return Promise.all([addingBackground, storingFiles ?? parts]).then(([hasBackground, fetchedParts]) => ({
    hasBackground,
    fetchedParts,
  }))
}

/** Begins to fetch the entries that precede a message elsewhere. Returns undefined if there can be none. */
function beginBackground(
  turn: Turn,
  { channels }: TurnContext,
  signal: AbortSignal,
): Promise<readonly BackgroundEntry[]> | undefined {
  const channel = turn.attempt === 1 ? findChannel(channels, turn.via) : undefined
  try {
    return channel?.conversations?.fetchBackground?.(turn, signal)
  } catch (error) {
    return Promise.reject(error)
  }
}

const hiddenTextWarning = 'invisible characters were removed from posts before a message'

/**
 * Stores the entries that precede a message elsewhere. They are optional, so an error does not stop the turn. Returns true if the thread may have
 * such entries now.
 */
async function addBackground(
  turn: Turn,
  { store, system }: TurnContext,
  fetching: Promise<readonly BackgroundEntry[]>,
): Promise<boolean> {
  try {
    const entries = await fetching
    const visibleEntries = entries.map(readVisibleEntry)
    const hiddenCount = visibleEntries.reduce((sum, { removedCount }) => sum + removedCount, 0)
    if (hiddenCount > 0)
      system.log.warn(
        { correlation_id: turn.correlationId, flag: invisibleFlag, removed: hiddenCount },
        hiddenTextWarning,
      )
    const shownEntries = visibleEntries.map(({ entry }) => markQuoted(entry))
    if (shownEntries.length > 0) await store.addBackground(turn, shownEntries)
    return shownEntries.length > 0
  } catch (error) {
    system.log.warn(
      { correlation_id: turn.correlationId, err: error },
      'the entries before a message cannot be fetched',
    )
    return true
  }
}

/** Removes invisible characters from a fetched entry, because fetched posts do not pass the admission rules that do this for messages. */
function readVisibleEntry<Background extends Pick<BackgroundEntry, 'author' | 'parts'>>(
  fetchedEntry: Background,
): { readonly entry: Background; readonly removedCount: number } {
  const entry = toWellFormed(fetchedEntry)
  const author = readVisibleValue(entry.author, { except: new Set(['address']) })
  const parts = readVisibleParts(entry.parts)
  return { entry: { ...entry, author: author.value, parts: parts.value }, removedCount: author.removed + parts.removed }
}

/** Marks the text of a quoted post with a member that no message schema has, so that no peer, agent or import can set it. */
function markQuoted(entry: BackgroundEntry): BackgroundEntry {
  const parts = entry.parts.map(part => (part.kind === 'text' ? toQuotedText(part) : part))
  return entry.isQuoted ? { ...entry, parts } : entry
}
