// Validates swarm messages and converts their images.
import type { FilePart, Json, Part } from '@postern/message'
import { z } from 'zod'
import { jsonMapSchema, parseForeign } from '../json/schema.ts'

export const swarmRoles = ['assistant', 'system', 'tool', 'user', 'resque', 'flush', 'developer'] as const
const executionModes = ['user', 'tool'] as const

const swarmToolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: jsonMapSchema }),
})

/** An image in a program, which is bytes or base64 text. */
export type SwarmImage = Blob | Uint8Array | string

/** Converts bytes to base64 text. */
const imageSchema = z.union(
  [z.string(), z.instanceof(Uint8Array).transform(bytes => Buffer.from(bytes).toString('base64'))],
  'must be base64 text or bytes; swarmCodec.readLive() reads a Blob',
)

const swarmMessageSchema = z.looseObject({
  role: z.enum(swarmRoles),
  /** The agent that the message belongs to. */
  agentName: z.string(),
  content: z.string(),
  /** The origin of the message, which is a user, or a tool or the system. */
  mode: z.enum(executionModes),
  tool_calls: z
    .array(swarmToolCallSchema)
    .refine(calls => new Set(calls.map(({ id }) => id)).size === calls.length, 'two calls have one id')
    .optional(),
  tool_call_id: z.string().optional(),
  images: z.array(imageSchema).optional(),
  payload: jsonMapSchema.nullable().optional(),
})

export type SwarmRole = (typeof swarmRoles)[number]
export type ExecutionMode = (typeof executionModes)[number]
export type SwarmToolCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: { readonly [name: string]: Json } }
}
/** An `ISwarmMessage` as JSON. */
export type SwarmMessage = {
  readonly role: SwarmRole
  readonly agentName: string
  readonly content: string
  readonly mode: ExecutionMode
  readonly tool_calls?: readonly SwarmToolCall[] | undefined
  readonly tool_call_id?: string | undefined
  readonly images?: readonly string[] | undefined
  readonly payload?: { readonly [name: string]: Json } | null | undefined
}

/** Parses a message of a swarm. @throws Rejection malformed, naming the member */
export function parseSwarmMessage(value: unknown): SwarmMessage {
  return parseForeign(swarmMessageSchema as unknown as z.ZodType<SwarmMessage>, value, 'swarm message')
}

export function hasOnlyText(images: readonly SwarmImage[]): images is readonly string[] {
  return images.every(image => typeof image === 'string')
}

/** Converts images of any kind that a caller may have to base64 text. */
export async function encodeSwarmImages(images: readonly SwarmImage[]): Promise<readonly string[]> {
  const encodedImages = images.map(async image => {
    if (typeof image === 'string') return image
    const bytes = image instanceof Uint8Array ? image : new Uint8Array(await image.arrayBuffer())
    return Buffer.from(bytes).toString('base64')
  })
  return await Promise.all(encodedImages)
}

const signatures: readonly (readonly [mime: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  ['image/bmp', /^BM/],
  ['image/tiff', /^(?:II\*\0|MM\0\*)/],
  ['image/avif', /^[\s\S]{4}ftypavi[fs]/],
  ['image/heic', /^[\s\S]{4}ftyphei[cx]/],
  ['image/svg+xml', /^\s*(?:<\?xml[^>]*>\s*)?<svg[\s>]/],
]

const base64Text = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const dataUrl = /^data:([^;,]*);base64,(.*)$/s

/** Detects the media type of an image by its first bytes. */
export function detectImageType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 256)).toString('latin1')
  return signatures.find(([, pattern]) => pattern.test(start))?.[0]
}

/** Reads an image of a swarm message as a file. Returns `undefined` if the image is not base64. */
export function readSwarmImage(image: string): FilePart | undefined {
  const [, mimeType, urlData] = dataUrl.exec(image) ?? []
  const data_base64 = urlData ?? image
  if (data_base64 === '' || !base64Text.test(data_base64)) return undefined
  const bytes = Buffer.from(data_base64, 'base64')
  const mime = detectImageType(bytes) ?? (mimeType || 'application/octet-stream')
  return { kind: 'file', mime, size: bytes.length, bytes_ref: { kind: 'inline', data_base64 } }
}

/** Lists the images of `parts` whose bytes are included. */
export function listInlineImages(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(part =>
    part.kind === 'file' && part.bytes_ref.kind === 'inline' ? [part.bytes_ref.data_base64] : [],
  )
}
