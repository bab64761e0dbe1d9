// Reads the result of an MCP tool: text and JSON for the model; images, sounds and other bytes as files of the answer.
import { Rejection, readVisibleText } from '@postern/message'
import { detectImageType } from '@postern/transcript'
import { z } from 'zod'

/** The bytes or text of a resource that a result embeds (MCP 2025-11-25, server/tools §Embedded Resources). */
const resourceSchema = z.looseObject({
  uri: z.string(),
  text: z.string().optional(),
  blob: z.string().optional(),
  mimeType: z.string().optional(),
})

/** Content that a tool returns (MCP 2025-11-25, server/tools §Tool Result). */
const contentSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
  resource: resourceSchema.optional(),
  annotations: z.looseObject({ audience: z.array(z.string()).optional() }).optional(),
})

const resultSchema = z.looseObject({
  content: z.array(contentSchema).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

type Content = z.infer<typeof contentSchema>

/** The maximum length of an error that the model gets, characters. */
const maxErrorChars = 2_000

/**
 * Returns the structured content if there is any, otherwise the text. A result with files becomes `{ parts }`, as a tool of a module returns it.
 * @throws Rejection if the tool reports that it failed
 */
export function readToolResult(value: unknown): unknown {
  const { content, structuredContent, isError } = resultSchema.parse(value)
  const formatText = () => content.map(describeContent).join('\n')
  if (isError)
    throw new Rejection('malformed', formatText().slice(0, maxErrorChars).toWellFormed() || 'The tool failed.')
  if (!content.some(isFile)) return structuredContent ?? formatText()
  if (structuredContent === undefined) return { parts: content.map(toPart) }
  return { structuredContent, parts: content.filter(isFile).map(toPart) }
}

/** Returns true if the content has bytes that people may get. Some servers mark content as only for the model. */
function isFile(content: Content): boolean {
  const audience = content.annotations?.audience
  return readBytes(content) !== undefined && (audience === undefined || audience.includes('user'))
}

function readBytes({ type, data, resource }: Content): string | undefined {
  if (type === 'image' || type === 'audio') return data
  return type === 'resource' ? resource?.blob : undefined
}

function toPart(content: Content) {
  if (!isFile(content)) return { kind: 'text', mime: 'text/plain', content: describeContent(content) }
  const data_base64 = readBytes(content) ?? ''
  const mime = content.mimeType ?? content.resource?.mimeType ?? 'application/octet-stream'
  const name = fileNameOf(content)
  return {
    kind: 'file',
    ...(name && { name }),
    mime: detectImageType(Buffer.from(data_base64, 'base64')) ?? mime,
    bytes_ref: { kind: 'inline', data_base64 },
  }
}

/** Returns the last segment of a resource's URI. Images and sounds have no name. */
function fileNameOf({ resource }: Content): string | undefined {
  const [path = ''] = resource?.uri.split(/[?#]/) ?? []
  const segment = path.slice(path.lastIndexOf('/') + 1)
  return readVisibleText(decodeSegment(segment)).text.replaceAll(/[/\\]/g, '_').slice(-maxNameChars).toWellFormed()
}

/** The maximum length of a file's name, characters. */
const maxNameChars = 255

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Returns the text, or the name, type and size of content that is no text. */
function describeContent(content: Content): string {
  const { type, text, mimeType, uri, name, resource } = content
  if (type === 'text') return text ?? ''
  if (type === 'resource') return resource?.text ?? `[${resource?.uri}, ${resource?.mimeType ?? 'unknown type'}]`
  if (type === 'resource_link') return `[${name ?? 'a resource'}: ${uri}]`
  const bytes = Buffer.byteLength(readBytes(content) ?? '', 'base64')
  return `[${type}, ${mimeType ?? 'unknown type'}, ${bytes} bytes]`
}
