import { z } from 'zod'
import type { Json } from '../format/notations.ts'

const bytesRefSchema = z.discriminatedUnion('kind', [
  z.object({
    /** `inline` holds the bytes, `url` says where they are, `content_addressed` names them by their digest. */
    kind: z.literal('inline'),
    /** The bytes. */
    data_base64: z.base64(),
  }),
  z.object({
    kind: z.literal('url'),
    /** Where the bytes are; of inbound files a signed address of the gateway. */
    url: z.url(),
    /** When the address stops working, ISO 8601. */
    expires_at: z.string().optional(),
  }),
  z.object({
    kind: z.literal('content_addressed'),
    /** The digest's algorithm. */
    algo: z.literal('sha256'),
    /** Digest of the bytes, in lower case hexadecimal; the gateway checks it at each fetch. */
    digest: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'),
    url: z.url().optional(),
  }),
])

/** A requirement on the other side before the agent goes on; unknown kinds are kept and never mean success. */
export const policySchema = z.looseObject({
  /** The requirement, or why the agent refuses; an unknown kind stays and never means success. */
  kind: z.string(),
  /** What the sender reads. */
  message: z.string(),
  /** The meaning, as one word for programs. */
  code: z.string().optional(),
  /** Title of the page for the decision. */
  title: z.string().optional(),
  /** Title and message in further languages, by language tag. */
  message_translations: z
    .record(
      z.string(),
      z.object({
        /** The title. */
        title: z.string().optional(),
        /** The message. */
        message: z.string(),
      }),
    )
    .optional(),
  /** Page of the gateway for the decision. */
  url: z.url({ protocol: /^https$/ }).optional(),
  /** Label of the link to that page. */
  action_label: z.string().optional(),
  /** Details for programs. */
  data: z.record(z.string(), z.unknown()).optional(),
  /** How the sender can prove more, for `unauthorized`. */
  auth_challenges: z
    .array(
      z.looseObject({
        /** Scheme of authentication. */
        scheme: z.string(),
      }),
    )
    .optional(),
  /** When asking again makes sense, for refusals that pass. */
  retry_after_seconds: z.number().optional(),
  /** Single-use state that a decision names: 256 bits that nobody can guess. */
  state: z.string().optional(),
})

const textPartSchema = z.object({
  /** Text. */
  kind: z.literal('text'),
  /** The markup of the text. */
  mime: z.enum(['text/plain', 'text/markdown', 'text/html']),
  /** The text. */
  content: z.string(),
})
const filePartSchema = z.object({
  /** A file. */
  kind: z.literal('file'),
  /** Name of the file. */
  name: z.string().optional(),
  /** What it shows, for people who cannot see it (alt text). */
  description: z.string().optional(),
  /** Its media type. */
  mime: z.string().optional(),
  /** Its size in bytes. */
  size: z.number().optional(),
  /** Where its bytes are. */
  bytes_ref: bytesRefSchema,
})
const linkPartSchema = z.object({
  /** A link. */
  kind: z.literal('link'),
  /** Where it leads. */
  url: z.string(),
  /** Its title. */
  title: z.string().optional(),
  /** What is there. */
  description: z.string().optional(),
})
const artifactPartSchema = filePartSchema.extend({
  /** A result that is a thing of its own. */
  kind: z.literal('artifact'),
  /** What kind of thing it is. */
  artifact_type: z.string().optional(),
  /** The value itself, if it came as one (an A2A data part); the bytes are its JSON. */
  data: (z.json() as z.ZodType<unknown> as z.ZodType<Json>).optional(),
})
const toolCallPartSchema = z.object({
  /** A call of a tool; it comes twice under one id, when it begins and when it ends. */
  kind: z.literal('tool_call'),
  /** Id of the call. */
  id: z.string(),
  /** Name of the tool. */
  name: z.string(),
  /** The arguments of the call. */
  args: z.unknown().optional(),
  /** What it returned. */
  result: z.unknown().optional(),
  /** Why it failed. */
  error: z
    .object({
      /** The reason. */
      message: z.string(),
    })
    .optional(),
  /** The member of a swarm that called it. */
  agent: z.string().optional(),
  /** Public id of the requirement that an earlier answer put before the end of this call. */
  continues: z.string().optional(),
})
const policyPartSchema = z.object({
  /** A requirement or a refusal. */
  kind: z.literal('policy'),
  /** What is required or refused. */
  policy: policySchema,
})

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
