import type { ArtifactPart, FilePart, Part } from '@postern/core'
import { plainTextOf } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import { contentIsEmpty, textOfContent, writeAguiUsage } from '@postern/transcript'
import { showPlace } from '../attachments/attachment-store.ts'
import { locateStoredFile } from '../attachments/stored-files.ts'
import type { WebDeps } from '../deps.ts'
import type { ShownRefusal } from '../parts/refusal.ts'
import { findRefusal } from '../parts/refusal.ts'
import type { FileAddress } from '../parts/write-block.ts'
import { listFiles, writeBlocks } from '../parts/write-block.ts'
import { showOpenRequirements } from '../requirements/open-requirements.ts'

/** A message as `GET …/history` shows it: text only, what else there is in `metadata`. */
interface HistoryMessage {
  readonly id: string
  readonly seq: number
  readonly role: string
  /** Of several agents behind one address, the one who said it. */
  readonly name?: string | undefined
  readonly content: string
  readonly metadata: Record<string, unknown>
  readonly timestamp: string
}

/** Whose eyes they are for; of a conversation that began elsewhere each message says how it came or went (`via`). */
interface HistoryAudience {
  readonly owner: string
  readonly isJoined: boolean
  /** Places count all there is, not the words of the chat alone. */
  readonly isTrace?: boolean | undefined
}

export async function showHistory(
  entries: readonly TranscriptEntry[],
  { owner, isJoined, isTrace }: HistoryAudience,
  { attachments, gateway }: Pick<WebDeps, 'attachments' | 'gateway'>,
): Promise<readonly HistoryMessage[]> {
  return Promise.all(
    entries.map(async entry => {
      const [shown, requirements] = [
        await showEntry(entry, owner, { attachments, gateway }),
        await showOpenRequirements(entry, owner, gateway),
      ]
      const more = { ...(isJoined && { via: entry.via ?? 'web' }), ...(requirements.length > 0 && { requirements }) }
      return { ...shown, ...(isTrace && { seq: entry.seq }), metadata: { ...shown.metadata, ...more } }
    }),
  )
}

async function showEntry(
  entry: TranscriptEntry,
  owner: string,
  { attachments, gateway }: Pick<WebDeps, 'attachments' | 'gateway'>,
): Promise<HistoryMessage> {
  const { entry_id, native_id, chat_seq, seq, role, agent_key, content, at } = entry
  const parts = 'parts' in content ? content.parts : []
  const usage = writeAguiUsage(entry.usage)
  const files = role === 'user' ? [] : listFiles(parts, gateway.fileAddress)
  return {
    id: native_id ?? entry_id,
    seq: chat_seq ?? seq,
    role: isAsked(entry) ? 'assistant' : role,
    ...(agent_key !== undefined && (role === 'assistant' || isAsked(entry)) && { name: agent_key }),
    content: textOfEntry(entry, gateway.fileAddress),
    metadata: {
      ...entry.metadata,
      ...showStage(entry),
      ...(usage && { usage }),
      ...(entry.is_incomplete && { incomplete: true }),
      ...showRefusal(parts),
      ...(files.length > 0 ? { files } : await showAttachments(entry, owner, attachments)),
    },
    timestamp: at,
  }
}

/** Questions are the agent's words, also where what they wait for takes the place of a result. */
export function isAsked({ kind }: Pick<TranscriptEntry, 'kind'>): boolean {
  return kind === 'approval_required' || kind === 'input_required'
}

/** Trace entries tell what was called; bubbles their text, an agent's as it was streamed: with links to its files. */
function textOfEntry({ kind, role, content, tool }: TranscriptEntry, fileAddress: FileAddress): string {
  if (!tool || kind === 'approval_required' || !contentIsEmpty(content)) {
    if (!('parts' in content)) return textOfContent(content)
    return role === 'user' ? plainTextOf(content.parts) : writeBlocks(content.parts, fileAddress)
  }
  return JSON.stringify(tool.result ?? tool.error ?? { name: tool.name, args: tool.args })
}

function showStage(entry: TranscriptEntry) {
  const { kind, role, run_id, stage, latency_ms, entry_id, native_id, tool, metadata } = entry
  if (role === 'user') return { ...(run_id !== undefined && { run_id }), ...showDecision(entry) }
  return {
    ...(run_id !== undefined && { run_id }),
    stage: stage ?? (tool ? 'tool_execution' : 'execution'),
    ...(latency_ms !== undefined && { latency_ms: Math.round(latency_ms) }),
    // A stage is one of the answer it leads to.
    message_id: (kind === 'activity' && metadata?.message_id) || (native_id ?? entry_id),
    ...(tool?.name !== undefined && { tool_name: tool.name }),
  }
}

function showRefusal(parts: readonly Part[]): { readonly error?: ShownRefusal } {
  const { message: _, ...error } = findRefusal(parts) ?? {}
  return 'kind' in error ? { error } : {}
}

/** That it is no word of his own, and whose; which of the operators it was is their own affair. */
function showDecision({ decided_by }: TranscriptEntry): object {
  if (!decided_by) return {}
  const { method, approver } = decided_by
  return { decided_by: { method, ...(approver && { approver }) } }
}

/** Bucket, path and type of what its owner sent: no address and no token. */
async function showAttachments(
  entry: TranscriptEntry,
  owner: string,
  attachments: WebDeps['attachments'],
): Promise<object> {
  const files = ('parts' in entry.content ? entry.content.parts : []).filter(
    (part): part is FilePart | ArtifactPart => part.kind === 'file' || part.kind === 'artifact',
  )
  // The same bytes may have been sent twice: each message has its own file, which bears the name that the record store gave it.
  const found = await Promise.all(
    files.map(async part => {
      const { name, bytes_ref } = part
      const object =
        bytes_ref.kind === 'content_addressed'
          ? await attachments.findByDigest(owner, bytes_ref.digest, name)
          : undefined
      return object ? showPlace(object) : locateStoredFile(entry, part)
    }),
  )
  const places = found.filter(place => place !== undefined)
  if (places.length === 0) return {}
  return { user_message_attachments: places[0], ...(places.length > 1 && { user_message_attachments_all: places }) }
}
