// Fetches the files and the earlier entries to which a message refers, before the call of its agent.

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

/** Returns true if something has to be fetched before the agent is called. */
export function needsFetching({ attempt, via, content }: Turn, { channels, fetchFile }: TurnContext): boolean {
  const hasFiles = fetchFile !== undefined && content.parts.some(({ kind }) => kind === 'file')
  return hasFiles || (attempt === 1 && findChannel(channels, via)?.conversations?.fetchBackground !== undefined)
}

export async function fetchReferenced(turn: Turn, turnContext: TurnContext, signal: AbortSignal) {
  const { parts } = turn.content
  const storingFiles = parts.some(isFilePart) ? storeLinkedFiles(turn, turnContext, signal) : parts
  const fetches = [addBackground(turn, turnContext, signal), storingFiles] as const
  const [hasBackground, fetchedParts] = await Promise.all(fetches)
  return { hasBackground, fetchedParts }
}

const hiddenTextWarning = 'invisible characters were removed from posts before a message'

/**
 * Stores the entries that precede a message elsewhere. They are optional, so an error does not stop the turn. Returns true if the thread may have
 * such entries now.
 */
async function addBackground(
  turn: Turn,
  { store, channels, system }: TurnContext,
  signal: AbortSignal,
): Promise<boolean> {
  const channel = turn.attempt === 1 ? findChannel(channels, turn.via) : undefined
  if (!channel?.conversations?.fetchBackground) return false
  try {
    const entries = await channel.conversations.fetchBackground(turn, signal)
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
