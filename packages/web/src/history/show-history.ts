// Shows the stored messages of a chat as its history.
import type { ArtifactPart, FilePart, Part } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { TranscriptEntry } from '@postern/transcript'
import { contentIsEmpty, messageIdOf, partsOfContent, textOfContent, writeAguiUsage } from '@postern/transcript'
import { locateStoredFile, showLocation } from '../attachments/attachment-store.ts'
import type { WebDeps } from '../endpoint.ts'
import type { FileAddress, RefusalView } from '../render.ts'
import { blockBreak, findRefusal, listFiles, writeBlock, writeBlocks } from '../render.ts'
import type { OpenRequirementView } from '../requirements/interrupts.ts'
import { showOpenRequirements } from '../requirements/interrupts.ts'

/** A message in the form of `GET …/history`: its text, and everything else in `metadata`. */
interface HistoryMessage {
  readonly id: string
  readonly seq: number
  readonly role: string
  /** The speaker. Absent if the message does not name one. */
  readonly name?: string | undefined
  readonly content: string
  readonly metadata: Record<string, unknown>
  readonly timestamp: string
}

/** The options of a history: its owner, and what each message shows. In a joined conversation each message names its channel (`via`). */
export interface HistoryAudience {
  readonly owner: string
  readonly isJoined: boolean
  /** True if numbers count all entries, and not only those of the chat. */
  readonly showsTrace?: boolean | undefined
}

export async function showHistory(
  entries: readonly TranscriptEntry[],
  { owner, isJoined, showsTrace }: HistoryAudience,
  { attachments, gateway }: Pick<WebDeps, 'attachments' | 'gateway'>,
): Promise<readonly HistoryMessage[]> {
  return Promise.all(
    entries.map(async entry => {
      const [message, requirements] = [
        await showEntry(entry, owner, { attachments, gateway }),
        await showOpenRequirements(entry, owner, gateway),
      ]
      const addedMetadata = {
        ...(isJoined && { via: entry.via ?? 'web' }),
        ...(requirements.length > 0 && { requirements }),
      }
      return { ...message, ...(showsTrace && { seq: entry.seq }), metadata: { ...message.metadata, ...addedMetadata } }
    }),
  )
}

async function showEntry(
  entry: TranscriptEntry,
  owner: string,
  { attachments, gateway }: Pick<WebDeps, 'attachments' | 'gateway'>,
): Promise<HistoryMessage> {
  const { chat_seq, seq, role, agent_key, content, at } = entry
  const parts = partsOfContent(content)
  const usage = writeAguiUsage(entry.usage)
  const files = role === 'user' ? [] : listFiles(parts, gateway.fileAddress)
  return {
    id: messageIdOf(entry),
    seq: chat_seq ?? seq,
    role: isRequirement(entry) ? 'assistant' : role,
    ...(agent_key !== undefined && (role === 'assistant' || isRequirement(entry)) && { name: agent_key }),
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

/** Returns true for an entry in which an agent asks for something. It counts as the agent's message, even if it stands in place of a tool's result. */
export function isRequirement({ kind }: Pick<TranscriptEntry, 'kind'>): boolean {
  return kind === 'approval_required' || kind === 'input_required'
}

/** Returns the text of an entry. A trace entry shows the call. A message of an agent has links to its files, as in the stream. */
function textOfEntry({ kind, role, content, tool }: TranscriptEntry, fileAddress: FileAddress): string {
  if (!tool || kind === 'approval_required' || !contentIsEmpty(content)) {
    if (!('parts' in content)) return textOfContent(content)
    return role === 'user' ? plainTextOf(content.parts) : writeBlocks(content.parts, fileAddress)
  }
  return JSON.stringify(tool.result ?? tool.error ?? { name: tool.name, args: tool.args })
}

function showStage(entry: TranscriptEntry) {
  const { kind, role, run_id, stage, latency_ms, tool, metadata } = entry
  if (role === 'user') return { ...(run_id !== undefined && { run_id }), ...showDecision(entry) }
  return {
    ...(run_id !== undefined && { run_id }),
    stage: stage ?? (tool ? 'tool_execution' : 'execution'),
    ...(latency_ms !== undefined && { latency_ms: Math.round(latency_ms) }),
    // The stage belongs to the answer that follows it.
    message_id: (kind === 'activity' && metadata?.message_id) || messageIdOf(entry),
    ...(tool?.name !== undefined && { tool_name: tool.name }),
  }
}

function showRefusal(parts: readonly Part[]): { readonly error?: RefusalView } {
  const { message: _, ...error } = findRefusal(parts) ?? {}
  return 'kind' in error ? { error } : {}
}

/**
 * Returns the metadata that marks a decision, which is not the person's own message, with its method and the kind of approver. It does not name the
 * operator.
 */
function showDecision({ decided_by }: TranscriptEntry): object {
  if (!decided_by) return {}
  const { method, approver } = decided_by
  return { decided_by: { method, ...(approver && { approver }) } }
}

/** Returns the bucket, path and type of the files that the owner sent, without address or token. */
async function showAttachments(
  entry: TranscriptEntry,
  owner: string,
  attachments: WebDeps['attachments'],
): Promise<object> {
  const files = partsOfContent(entry.content).filter(
    (part): part is FilePart | ArtifactPart => part.kind === 'file' || part.kind === 'artifact',
  )
  // If a person sent the same bytes twice, each message has its own file, with the name that the record store gave it.
  const foundLocations = await Promise.all(
    files.map(async part => {
      const { name, bytes_ref } = part
      const object =
        bytes_ref.kind === 'content_addressed'
          ? await attachments.findByDigest(owner, bytes_ref.digest, name)
          : undefined
      return object ? showLocation(object) : locateStoredFile(entry, part)
    }),
  )
  const locations = foundLocations.flatMap(location => location ?? [])
  if (locations.length === 0) return {}
  return {
    user_message_attachments: locations[0],
    ...(locations.length > 1 && { user_message_attachments_all: locations }),
  }
}

/** Returns the text of a message with a link for each open requirement in its `metadata`, for clients of AG-UI 0.0.x, which show only text. */
export function addLinks(content: string, { requirements = [] }: { readonly requirements?: unknown }): string {
  const links = (requirements as readonly OpenRequirementView[]).map(({ url }) =>
    writeBlock({ kind: 'link', url }, undefined),
  )
  return [content, ...links].filter(Boolean).join(blockBreak)
}
