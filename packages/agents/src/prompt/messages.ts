import type { AgentContext, ArtifactPart, FilePart, NormalizedMessage, Part, ToolCallPart } from '@postern/core'
import { isFilePart, plainTextOf } from '@postern/core'
import { findImageKind } from '../config/profile.ts'
import { formatToolResult } from '../tools/tools.ts'

interface CalledTool {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** Text that may bear a mark for caches of prompts. */
interface TextPiece {
  readonly type: 'text'
  readonly text: string
  readonly cache_control?: { readonly type: 'ephemeral' }
}

/** One message of a chat completion, as it goes over the wire. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly (TextPiece | ImagePiece)[] }
  | {
      readonly role: 'assistant'
      readonly content: string | readonly TextPiece[] | null
      readonly tool_calls?: readonly CalledTool[]
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string | readonly TextPiece[] }

/** The agent's part of one turn: texts, and the calls between them with their results. */
export function toAssistantMessages(parts: readonly Part[], withCalls: boolean): readonly ChatMessage[] {
  const said: { text: Part[]; calls: ToolCallPart[] }[] = [{ text: [], calls: [] }]
  for (const part of parts) {
    const last = said.at(-1)
    if (part.kind === 'tool_call') {
      if (withCalls) last?.calls.push(part)
    } else if (last && last.calls.length === 0) last.text.push(part)
    else said.push({ text: [part], calls: [] })
  }
  return said.flatMap(({ text, calls }) => toCallingMessages(formatSaid(text), calls))
}

function toCallingMessages(text: string, calls: readonly ToolCallPart[]): readonly ChatMessage[] {
  // Some servers refuse empty content, but a turn without text must still have a message.
  if (calls.length === 0) return [{ role: 'assistant', content: text || '(nothing)' }]
  const results = calls.map(({ id, result, error }): ChatMessage => {
    return { role: 'tool', tool_call_id: id, content: formatToolResult(error ? { error } : { result }) }
  })
  return [{ role: 'assistant', content: text || null, tool_calls: calls.map(toCalledTool) }, ...results]
}

function toCalledTool({ id, name, args }: ToolCallPart): CalledTool {
  return {
    id,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
  }
}

function formatSaid(parts: readonly Part[]): string {
  const named = parts.map(part =>
    isFilePart(part) ? `[${part.kind}: ${part.name ?? part.description ?? 'unnamed'}]` : plainTextOf([part]),
  )
  return named.filter(Boolean).join('\n\n')
}

/** A picture as chat completions take it. */
export interface ImagePiece {
  readonly type: 'image_url'
  readonly image_url: { readonly url: string }
}

const maxImages = 4
/** Bytes of one picture. Base64 adds a third. */
const maxImageBytes = 5 * 1024 * 1024

type ImageDeps = Pick<AgentContext, 'attachment' | 'log' | 'signal'>

/** The pictures of a message as data URLs. Missing, too large and invalid ones are left out, because the text names them anyway. */
export async function readImages({ parts }: NormalizedMessage, context: ImageDeps): Promise<readonly ImagePiece[]> {
  const candidates = parts.filter(isLikelyImage).slice(0, maxImages)
  const images = await Promise.all(candidates.map(part => readImage(part, context)))
  return images.filter(image => image !== undefined)
}

function isLikelyImage(part: Part): part is FilePart | ArtifactPart {
  return isFilePart(part) && part.mime?.startsWith('image/') === true && (part.size ?? 0) <= maxImageBytes
}

async function readImage(part: FilePart | ArtifactPart, context: ImageDeps): Promise<ImagePiece | undefined> {
  const bytes = await readBytes(part, context)
  // The bytes and not the name determine the type.
  const kind = bytes && bytes.length <= maxImageBytes ? findImageKind(bytes) : undefined
  if (!bytes || !kind) return undefined
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${kind.mediaType};base64,${data}` } }
}

async function readBytes(part: FilePart | ArtifactPart, { attachment, log, signal }: ImageDeps) {
  try {
    return (await attachment(part)).bytes
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ err: error }, 'a picture cannot be shown to the model')
    return undefined
  }
}
