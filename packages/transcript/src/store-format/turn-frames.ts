// Adds the `task` and `final` entry of each agent's turn that readers of a message store expect.
import type { TranscriptEntry } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { selectEntries } from '../store/memory-store.ts'
import type { EntryRange, TranscriptStore } from '../store/transcript-store.ts'

/**
 * Reads a thread in the turns of message stores. Each agent with actions in a turn gets the user's message as its `task` and its answer as
 * its `final`. Agents that recorded these entries themselves keep them. Nothing is stored, because the transcript has the texts.
 */
export function frameTurns(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const turns = Map.groupBy(entries, ({ turn_id }) => turn_id)
  turns.delete(undefined)
  const frames = [...turns.values()].flatMap(turn => listActors(turn).flatMap(actor => frameTurn(turn, actor)))
  const framesBySeq = Map.groupBy(frames, ({ seq }) => seq)
  return entries.flatMap(entry => [entry, ...(framesBySeq.get(entry.seq) ?? [])])
}

/** Wraps a transcript so that `frameTurns` applies to each thread that it reads. `bounds` limits each thread, which is always read completely. */
export function withTurnFrames<Store extends TranscriptStore>(
  transcript: Store,
  bounds: Pick<EntryRange, 'max_bytes' | 'is_whole'> = {},
): Store {
  return {
    ...transcript,
    read: async (thread, range = {}) => selectEntries(frameTurns(await transcript.read(thread, bounds)), range),
  }
}

function listActors(turn: readonly TranscriptEntry[]): readonly string[] {
  const agentEntries = turn.filter(({ role, scope }) => role !== 'user' && scope !== 'global')
  return [...new Set(agentEntries.flatMap(({ agent_key }) => agent_key ?? []))]
}

function frameTurn(turn: readonly TranscriptEntry[], agent_key: string): readonly TranscriptEntry[] {
  const ownEntries = turn.filter(entry => entry.agent_key === agent_key)
  const question = turn.find(isTextOf('user'))
  const answer = ownEntries.findLast(isTextOf('assistant'))
  const hasRecorded = (kind: EntryKind) => ownEntries.some(entry => entry.kind === kind && entry.scope === 'agent')
  return [
    ...(question && !hasRecorded('task') ? [createFrame(question, 'task', agent_key)] : []),
    ...(answer && !hasRecorded('final') ? [createFrame(answer, 'final', agent_key)] : []),
  ]
}

const isTextOf = (textRole: TranscriptEntry['role']) => {
  return ({ kind, role, scope }: TranscriptEntry) => kind === 'text' && role === textRole && scope === 'conversation'
}

const roles = { task: 'system', final: 'assistant' } as const

function createFrame(entry: TranscriptEntry, kind: keyof typeof roles, agent_key: string): TranscriptEntry {
  const { entry_id, thread_id, seq, content, at, turn_id } = entry
  const frameEntry = {
    entry_id: `${entry_id}.${kind}.${agent_key}`,
    kind,
    role: roles[kind],
    scope: 'agent',
    agent_key,
  } as const
  return { ...frameEntry, thread_id, seq, content, at, ...(turn_id !== undefined && { turn_id }) }
}
