// Converts parts of a message to messages of a chat completion, with tool calls and images.
import type { ArtifactPart, FilePart, NormalizedMessage, Part, ToolCallPart } from '@postern/message'
import { isFilePart, plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { findImageKind } from '../config/profile.ts'
import { formatToolResult } from '../tools/tools.ts'

interface CalledTool {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A text that may have a mark for prompt caches. */
interface TextPiece {
  readonly type: 'text'
  readonly text: string
  readonly cache_control?: { readonly type: 'ephemeral' }
}

/** One message of a chat completion in its wire format. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly (TextPiece | ImagePiece)[] }
  | {
      readonly role: 'assistant'
      readonly content: string | readonly TextPiece[] | null
      readonly tool_calls?: readonly CalledTool[]
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string | readonly TextPiece[] }

/** Converts the agent's side of one turn: its texts, and the calls between them with their results. */
export function toAssistantMessages(parts: readonly Part[], includesCalls: boolean): readonly ChatMessage[] {
  const pieces: { text: Part[]; calls: ToolCallPart[] }[] = [{ text: [], calls: [] }]
  for (const part of parts) {
    const lastPiece = pieces.at(-1)
    if (part.kind === 'tool_call') {
      if (includesCalls) lastPiece?.calls.push(part)
    } else if (lastPiece && lastPiece.calls.length === 0) lastPiece.text.push(part)
    else pieces.push({ text: [part], calls: [] })
  }
  return pieces.flatMap(({ text, calls }) => toCallingMessages(formatText(text), calls))
}

function toCallingMessages(text: string, calls: readonly ToolCallPart[]): readonly ChatMessage[] {
  // Some servers reject empty content, but a turn without text still needs a message.
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

function formatText(parts: readonly Part[]): string {
  const texts = parts.map(part =>
    isFilePart(part) ? `[${part.kind}: ${part.name ?? part.description ?? 'unnamed'}]` : plainTextOf([part]),
  )
  return texts.filter(Boolean).join('\n\n')
}

/** An image in the format of chat completions. */
interface ImagePiece {
  readonly type: 'image_url'
  readonly image_url: { readonly url: string }
}

const maxImages = 4
/** The maximum size of one image, bytes. Base64 adds a third. */
const maxImageBytes = 5 * 1024 * 1024

type ImageDeps = Pick<AgentContext, 'attachment' | 'log' | 'signal'>

/** An image of a message, or a text in place of one that cannot be read. */
export type ImageOrNote = ImagePiece | TextPiece

/**
 * Reads the images of a message as data URLs. It leaves out images that are too large or invalid, because the text names them anyway. For an
 * image that cannot be fetched, the model gets a sentence instead.
 */
export async function readImages({ parts }: NormalizedMessage, context: ImageDeps): Promise<readonly ImageOrNote[]> {
  const imageParts = parts.filter(isLikelyImage).slice(0, maxImages)
  const images = await Promise.all(imageParts.map((part, index) => readImage(part, index + 1, context)))
  return images.filter(image => image !== undefined)
}

function isLikelyImage(part: Part): part is FilePart | ArtifactPart {
  return isFilePart(part) && part.mime?.startsWith('image/') === true && (part.size ?? 0) <= maxImageBytes
}

async function readImage(
  part: FilePart | ArtifactPart,
  position: number,
  context: ImageDeps,
): Promise<ImageOrNote | undefined> {
  const bytes = await readBytes(part, context)
  // The sentence refers to the image by its position, because its name comes from the sender and may say anything.
  if (!bytes)
    return { type: 'text', text: `[Picture ${position} of the message cannot be read: it could not be fetched.]` }
  // The bytes determine the type, because the name may be wrong.
  const imageKind = bytes.length <= maxImageBytes ? findImageKind(bytes) : undefined
  if (!imageKind) return undefined
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${imageKind.mediaType};base64,${data}` } }
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
