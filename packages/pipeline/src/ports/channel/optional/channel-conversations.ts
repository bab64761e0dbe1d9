// Declares conversations that begin before a message or continue elsewhere.
import type { Json } from '@postern/message'
import type { BackgroundEntry } from '../../records/transcript.ts'
import type { Turn } from '../../records/work/turn.ts'

/** The conversations of a channel beyond the messages that arrived over it. All members are optional. */
export interface ChannelConversations {
  /**
   * Fetches the entries before a message that begins in the middle of a conversation, oldest first. It is limited in number and time, and leaves
   * out entries that it cannot fetch. Returns undefined if there can be none.
   */
  fetchBackground?(turn: Turn, signal: AbortSignal): Promise<readonly BackgroundEntry[]> | undefined
  /** Finds a chat by its owner and key, even if nobody has read its history yet. */
  findThread?(owner: string, key: string): Promise<{ readonly owner: string; readonly thread_id: string } | undefined>
  /** Returns the scope of conversations between an agent and this principal alone. It has no side effects. */
  privateScope?(subject: string): string | undefined
  /**
   * Returns the target of a private answer in the conversation of `target`, to an author who wrote elsewhere (in a chat); undefined if nothing may be
   * sent. The conversations of a channel without this function cannot continue elsewhere. It has no side effects.
   */
  retarget?(target: Json): Json | undefined
}
