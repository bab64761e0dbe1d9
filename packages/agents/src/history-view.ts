import type { Entry, HistoryPolicy, Json, Part, SlidingWindowOptions, ToolCallPart } from '@postern/core'
import { createSlidingWindowPolicy } from '@postern/core'
import type { TranscriptEntry, ViewConfig } from '@postern/transcript'
import { buildHistory, contentOfText, scopeOfKind } from '@postern/transcript'

/** How an agent sees the past of a conversation, beside the sliding window: views of seeds 002 and 003 (seed-systems §5.5). */
export const historyViews = ['sliding', 'role:orchestrator', 'role:manager', 'role:worker', 'swarm'] as const
export type HistoryViewName = (typeof historyViews)[number]

export interface HistoryViewOptions extends SlidingWindowOptions {
  readonly view: HistoryViewName
  /** Messages that are left; default: 8 for an orchestrator, 15 for `swarm`. */
  readonly keep?: number | undefined
}

type OtherView = Exclude<HistoryViewName, 'sliding'>

const configs: Readonly<Record<OtherView, (keep: number | undefined) => ViewConfig>> = {
  'role:orchestrator': keep => ({ role: { role: 'orchestrator', max_conversation_turns: keep } }),
  'role:manager': () => ({ role: { role: 'manager' } }),
  'role:worker': () => ({ role: { role: 'worker' } }),
  swarm: (keep = 15) => ({ window: keep, pairs: 'after-window' }),
}

/** Entries that a view looks at. */
const viewReach = 400

/** The window is the last step of every view: what it leaves is trimmed, and takes turns. */
export function createHistoryView({ view, keep, ...window }: HistoryViewOptions): HistoryPolicy {
  if (view === 'sliding') return createSlidingWindowPolicy(window)
  // What stays of a view is its end; it has no head of its own.
  const sliding = createSlidingWindowPolicy({ ...window, keepHead: 0 })
  const config = configs[view](keep)
  return {
    reach: { head: 0, tail: viewReach },
    view: entries => buildHistory(entries.flatMap(toTranscriptEntries), config, sliding),
  }
}

/** A message as the transcript has it: its words, and each call with its end; one message to every view. */
function toTranscriptEntries({ seq, entryId, nativeId, role, author, parts, at }: Entry): readonly TranscriptEntry[] {
  const common = { seq, thread_id: 'desk', author, at: new Date(at).toISOString(), group_id: entryId } as const
  const words = parts.filter(part => part.kind !== 'tool_call')
  const calls = parts.filter(part => part.kind === 'tool_call').flatMap(writeCall)
  const said = { kind: 'text', role, scope: scopeOfKind('text', role), content: { parts: words as Part[] } } as const
  const pieces = words.length > 0 ? [...calls, said] : calls
  return pieces.map((piece, index) => {
    const isLast = index === pieces.length - 1
    return {
      entry_id: isLast ? entryId : `${entryId}.${index}`,
      ...(isLast && nativeId && { native_id: nativeId }),
      ...common,
      ...piece,
    }
  })
}

function writeCall({ id: call_id, name, args, result, error }: ToolCallPart) {
  const content = contentOfText('')
  const isMap = typeof args === 'object' && args !== null && !Array.isArray(args)
  const tool = { call_id, name, args: isMap ? (args as Record<string, Json>) : {} }
  const call = { kind: 'tool_call', role: 'assistant', scope: 'agent', content, tool } as const
  if (result === undefined && !error) return [call]
  const ended = { call_id, name, ...(error ? { error } : { result: result as Json }) }
  return [call, { kind: 'tool_result', role: 'tool', scope: 'agent', content, tool: ended } as const]
}
