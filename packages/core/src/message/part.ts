import { z } from 'zod'
import type { Json } from '../format/json.ts'

const bytesRefSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('inline'), data_base64: z.base64() }),
  z.object({ kind: z.literal('url'), url: z.url(), expires_at: z.string().optional() }),
  z.object({
    kind: z.literal('content_addressed'),
    algo: z.literal('sha256'),
    digest: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'),
    url: z.url().optional(),
  }),
])

/** A requirement on the other side before the agent goes on; unknown kinds are kept and never mean success. */
export const policySchema = z.looseObject({
  kind: z.string(),
  message: z.string(),
  code: z.string().optional(),
  title: z.string().optional(),
  message_translations: z
    .record(z.string(), z.object({ title: z.string().optional(), message: z.string() }))
    .optional(),
  url: z.url({ protocol: /^https$/ }).optional(),
  action_label: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  auth_challenges: z.array(z.looseObject({ scheme: z.string() })).optional(),
  retry_after_seconds: z.number().optional(),
  state: z.string().optional(),
})

const textPartSchema = z.object({
  kind: z.literal('text'),
  mime: z.enum(['text/plain', 'text/markdown', 'text/html']),
  content: z.string(),
})
const filePartSchema = z.object({
  kind: z.literal('file'),
  name: z.string().optional(),
  /** What it shows, in words for those who cannot see it (alt text). */
  description: z.string().optional(),
  mime: z.string().optional(),
  size: z.number().optional(),
  bytes_ref: bytesRefSchema,
})
const linkPartSchema = z.object({
  kind: z.literal('link'),
  url: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
})
const artifactPartSchema = filePartSchema.extend({
  kind: z.literal('artifact'),
  artifact_type: z.string().optional(),
  /** The value itself, where it came as one (an A2A data part); the bytes are its JSON. */
  data: (z.json() as z.ZodType<unknown> as z.ZodType<Json>).optional(),
})
const toolCallPartSchema = z.object({
  kind: z.literal('tool_call'),
  id: z.string(),
  name: z.string(),
  args: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
  /** Which of several agents behind one address called it. */
  agent: z.string().optional(),
  /** Its beginning was told by an earlier answer, which required this (the requirement's public id); here is its end alone. */
  continues: z.string().optional(),
})
const policyPartSchema = z.object({ kind: z.literal('policy'), policy: policySchema })

/** What was done behind an answer. */
export const traceSchema = z.array(toolCallPartSchema).max(500)

export const knownPartSchema = z.discriminatedUnion('kind', [
  textPartSchema,
  filePartSchema,
  linkPartSchema,
  artifactPartSchema,
  toolCallPartSchema,
  policyPartSchema,
])

export type BytesRef = z.infer<typeof bytesRefSchema>
export type Policy = z.infer<typeof policySchema>
export type TextPart = z.infer<typeof textPartSchema>
export type FilePart = z.infer<typeof filePartSchema>
export type ArtifactPart = z.infer<typeof artifactPartSchema>
export type LinkPart = z.infer<typeof linkPartSchema>
export type ToolCallPart = z.infer<typeof toolCallPartSchema>
export type PolicyPart = z.infer<typeof policyPartSchema>
export type Part = z.infer<typeof knownPartSchema>

const knownKinds: ReadonlySet<string> = new Set(['text', 'file', 'link', 'artifact', 'tool_call', 'policy'])

/** A part of a kind we know must be well formed; a part of any other kind is kept as it is. */
export const partSchema: z.ZodType<Part> = z.union([
  knownPartSchema,
  z.looseObject({
    kind: z.string().refine(kind => !knownKinds.has(kind), 'is not well formed'),
  }) as unknown as typeof knownPartSchema,
])

/** Text and links of `parts` as one plain reading, for history budgets and for wires that carry only text. */
export function plainTextOf(parts: readonly Part[]): string {
  const lines = parts.map(part => {
    if (part.kind === 'text') return part.content
    if (part.kind === 'link') return part.title ? `${part.title}: ${part.url}` : part.url
    return part.kind === 'policy' ? part.policy.message : ''
  })
  return lines.filter(Boolean).join('\n\n')
}
