import {
  createSlidingWindowPolicy,
  type Entry,
  type HistoryPolicy,
  type HistoryView,
  type Json,
  type Part,
} from '@postern/core'
import { isCallEntry, resultOfEntry } from '../codec/tool-entry.ts'
import { type TranscriptEntry, textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { type ViewConfig, viewEntries } from './views.ts'

const assistantKinds: ReadonlySet<EntryKind> = new Set(['text', 'final', 'input_required', 'policy', 'synthesis'])
const toldKinds: ReadonlySet<EntryKind> = new Set(['task', 'global_observation', 'error'])

/**
 * Entries as the history of a normalized message: two roles, with a call and its result in one part of the assistant. A task, and a global
 * observation, are addressed to the agent. Entries that are no text, task or call (plans, contexts, markers) are left out.
 */
function toHistoryEntries(entries: readonly TranscriptEntry[]): readonly Entry[] {
  const results = new Map(
    entries.filter(({ kind }) => kind === 'tool_result').map(entry => [entry.tool?.call_id, entry]),
  )
  return entries.flatMap(entry => {
    if (isCallEntry(entry)) return [toEntry(entry, 'assistant', [foldCall(entry, results.get(entry.tool?.call_id))])]
    if (toldKinds.has(entry.kind) || (entry.kind === 'text' && entry.role === 'user')) {
      return [toEntry(entry, 'user', partsOf(entry))]
    }
    const isSaid = assistantKinds.has(entry.kind) && (entry.role === 'assistant' || entry.kind === 'input_required')
    return isSaid ? [toEntry(entry, 'assistant', partsOf(entry))] : []
  })
}

/** From a thread to what an agent gets of it. */
export function buildHistory(
  entries: readonly TranscriptEntry[],
  config: ViewConfig,
  policy: HistoryPolicy = createSlidingWindowPolicy(),
): HistoryView {
  return policy.view(toHistoryEntries(viewEntries(entries, config)))
}

function toEntry(entry: TranscriptEntry, role: Entry['role'], parts: readonly Part[]): Entry {
  const { seq, entry_id, native_id, author, agent_key, at } = entry
  return {
    seq,
    entryId: entry_id,
    nativeId: native_id,
    role,
    author: author ?? { address: agent_key ?? '' },
    parts,
    at,
  }
}

function partsOf({ content }: TranscriptEntry): readonly Part[] {
  if ('parts' in content) return content.parts
  return [{ kind: 'text', mime: 'text/plain', content: textOfContent(content) }]
}

function foldCall({ tool, kind }: TranscriptEntry, result: TranscriptEntry | undefined): Part {
  const call = { kind: 'tool_call', id: tool?.call_id ?? '', name: tool?.name ?? kind, args: tool?.args ?? {} } as const
  if (!result) return call
  const { error } = result.tool ?? {}
  return error ? { ...call, error: { message: error.message } } : { ...call, result: resultOfEntry(result) as Json }
}
