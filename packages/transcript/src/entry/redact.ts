import type { TranscriptEntry } from './entry.ts'

/**
 * An entry without its content, for the deletion of personal data where the order of the thread must stay. Residue is removed, too, because
 * it may contain the text.
 */
export function redactEntry(entry: TranscriptEntry): TranscriptEntry {
  const { seq, chat_seq, entry_id, thread_id, scope, kind, role, agent_key, group_id, at, tool } = entry
  const kept = { seq, chat_seq, entry_id, thread_id, scope, kind, role, agent_key, group_id, at }
  const present = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)) as typeof kept
  const call = tool && { call_id: tool.call_id, ...(tool.name !== undefined && { name: tool.name }) }
  return { ...present, content: { parts: [] }, ...(call && { tool: call }) }
}
