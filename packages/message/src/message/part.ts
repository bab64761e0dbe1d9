// Describes the parts of messages and answers: text, files, links, data, tool calls and requirements.
import { z } from 'zod'
import type { Json } from '../format/json.ts'
import { parseJsonText } from '../format/json.ts'
import { toWellFormed } from '../format/text/well-formed.ts'
import { refusalKinds, requirementKinds } from './policy/policy-kinds.ts'

const bytesRefSchema = z.discriminatedUnion('kind', [
  z.object({
    /** `inline` holds the bytes, `url` says where they are, `content_addressed` names them by their digest. */
    kind: z.literal('inline'),
    /** The bytes. */
    data_base64: z.base64(),
  }),
  z.object({
    kind: z.literal('url'),
    /** The location of the bytes. */
    url: z.url(),
    /** True if a peer chose the address: it may lead into your own network, so fetch it through a guard or not at all. */
    foreign: z.boolean().optional(),
    /** The time at which the address stops working, ISO 8601. */
    expires_at: z.string().optional(),
  }),
  z.object({
    kind: z.literal('content_addressed'),
    /** The digest's algorithm. */
    algo: z.literal('sha256'),
    /** Digest of the bytes, in lower case hexadecimal; the gateway checks it at each fetch. */
    digest: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'),
    /** A signed address of the gateway, for inbound files. */
    url: z.url().optional(),
  }),
])

/** A requirement that the other side must meet before the agent continues, or a refusal. */
export const policySchema = z.looseObject({
  /** The kind of requirement or refusal; an unknown kind stays and never means success. */
  kind: z.string(),
  /** The text for the sender. */
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
  /** The challenges by which the sender can prove more, for `unauthorized`. */
  auth_challenges: z
    .array(
      z.looseObject({
        /** Scheme of authentication. */
        scheme: z.string(),
      }),
    )
    .optional(),
  /** Seconds after which a new request makes sense, for temporary refusals. */
  retry_after_seconds: z.number().optional(),
  /** Single-use state that a decision names: 256 bits that nobody can guess. */
  state: z.string().optional(),
})

/** The section to which a part belongs, in an answer with several results. */
const sectionSchema = z.object({
  /** Identifies the section within its answer. */
  id: z.string().min(1).max(256),
  /** Name of the result. */
  name: z.string().max(256).optional(),
})

const textPartSchema = z.object({
  /** Text. */
  kind: z.literal('text'),
  /** The markup of the text. */
  mime: z.enum(['text/plain', 'text/markdown', 'text/html']).default('text/markdown'),
  /** The text. */
  content: z.string(),
  /** The result to which the part belongs, if an answer has several; in A2A, an artifact. */
  section: sectionSchema.optional(),
})
const filePartSchema = z.object({
  /** A file. */
  kind: z.literal('file'),
  /** Name of the file. */
  name: z.string().optional(),
  /** A description of what it shows, for people who cannot see it (alt text). */
  description: z.string().optional(),
  /** Its media type. */
  mime: z.string().optional(),
  /** Its size in bytes. */
  size: z.number().optional(),
  /** The location of its bytes. */
  bytes_ref: bytesRefSchema,
  /** The result to which the part belongs, if an answer has several. */
  section: sectionSchema.optional(),
})
const linkPartSchema = z.object({
  /** A link. */
  kind: z.literal('link'),
  /** Address that it leads to. */
  url: z.string(),
  /** Its title. */
  title: z.string().optional(),
  /** A description of the page there. */
  description: z.string().optional(),
  /** The result to which the part belongs, if an answer has several. */
  section: sectionSchema.optional(),
})
const artifactPartSchema = filePartSchema.extend({
  /** A result that stands on its own. */
  kind: z.literal('artifact'),
  /** The type of the artifact. */
  artifact_type: z.string().optional(),
  /** The JSON value, if a peer sent a data part of A2A; the bytes are its JSON. */
  data: (z.json() as z.ZodType<unknown> as z.ZodType<Json>).optional(),
})
const toolCallPartSchema = z.object({
  /** A tool call; it appears twice under one id, when it begins and when it ends. */
  kind: z.literal('tool_call'),
  /** Id of the call. */
  id: z.string(),
  /** Name of the tool. */
  name: z.string(),
  /** The arguments of the call. */
  args: z.unknown().optional(),
  /** The value that it returned. */
  result: z.unknown().optional(),
  /** The reason for its failure. */
  error: z
    .object({
      /** The reason. */
      message: z.string(),
    })
    .optional(),
  /** The member of a swarm that called it. */
  agent: z.string().optional(),
  /** Public id of the requirement, in an earlier answer, whose decision this call awaited. */
  continues: z.string().optional(),
  /** Findings of the gateway in the result: `invisible_characters`, which it has removed. */
  flags: z.array(z.string()).optional(),
})
const policyPartSchema = z.object({
  /** A requirement or a refusal. */
  kind: z.literal('policy'),
  /** The requirement or refusal. */
  policy: policySchema,
})

/** Returns the section of a part; undefined if the part belongs to none, as in most answers. */
export function sectionOf(part: Part): AnswerSection | undefined {
  return 'section' in part ? part.section : undefined
}

/** Returns a part without its section. */
export function withoutSection(part: Part): Part {
  if (!('section' in part)) return part
  const { section: _, ...otherMembers } = part
  return otherMembers as Part
}

/** The tool calls that belong to the background of an answer. */
export const traceSchema = z.array(toolCallPartSchema).max(500)

export const knownPartSchema = z.discriminatedUnion('kind', [
  textPartSchema,
  filePartSchema,
  linkPartSchema,
  artifactPartSchema,
  toolCallPartSchema,
  policyPartSchema,
])

export type AnswerSection = z.infer<typeof sectionSchema>
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

/** A part of an unknown kind, which stays as it is. */
const unknownPartSchema = z.looseObject({
  // `abort` stops this alternative, so that the error report is about the known kind.
  kind: z.string().refine(kind => !knownKinds.has(kind), { error: 'is not well formed', abort: true }),
}) as unknown as typeof knownPartSchema

/** Any part. A part of a known kind must be valid; a part of another kind is kept as it is. */
export const partSchema: z.ZodType<Part> = z.union([knownPartSchema, unknownPartSchema])

/** Reads a value as `JSON.stringify` does: dates become text, and members without a value are dropped. */
const jsonValueSchema = z.unknown().transform((value, context): Json => {
  const json = toJson(value)
  if (json !== undefined) return json
  context.addIssue({ code: 'custom', message: 'must be JSON' })
  return z.NEVER
})

function toJson(value: unknown): Json | undefined {
  try {
    const text: string | undefined = JSON.stringify(toWellFormed(value))
    return text === undefined ? undefined : (parseJsonText(text) as Json)
  } catch {
    // The value contains a cycle or a BigInt, which JSON cannot express.
    return undefined
  }
}

/** An artifact that an agent gives only as JSON. */
export const dataPartSchema = artifactPartSchema.omit({ bytes_ref: true, size: true }).extend({
  /** Any JSON value; the gateway creates the bytes from it. */
  data: jsonValueSchema,
})

/** The type of an artifact that consists of one JSON value. */
export const dataArtifact = 'data'

/** Returns an artifact of one JSON value, with bytes for channels that know only files. */
export function completeDataPart({
  artifact_type = dataArtifact,
  mime = 'application/json',
  ...part
}: z.output<typeof dataPartSchema>): ArtifactPart {
  const data_base64 = Buffer.from(JSON.stringify(part.data)).toString('base64')
  return { ...part, artifact_type, mime, bytes_ref: { kind: 'inline', data_base64 } }
}

declare const channelPart: unique symbol

/** A part of a kind that only one channel has. Agents cannot create such a part, but they may pass on one that they got. */
export interface ChannelPart {
  readonly kind: string
  readonly [channelPart]: true
}

/** A part as an agent returns it. An artifact with `data` needs no bytes. */
export type GivenPart =
  | z.input<typeof knownPartSchema>
  | ChannelPart
  | (z.input<typeof dataPartSchema> & { readonly bytes_ref?: undefined })

/** The kinds of parts that a channel adds to its messages. An agent may pass them on. */
const channelKinds = ['email'] as const

/** The location of the bytes of a file that an agent gives. An address that a peer chose may have another scheme, because agents pass it on. */
const givenBytesRefSchema = bytesRefSchema.refine(
  ref => ref.kind !== 'url' || ref.foreign === true || /^https?:/i.test(ref.url) || !URL.canParse(ref.url),
  { path: ['url'], error: 'must be an address of http or https' },
)

/** A part of a known kind as an agent gives it. A kind that nobody knows is a slip of the agent: people would get nothing of it. */
const knownGivenPartSchema = z.discriminatedUnion('kind', [
  textPartSchema,
  filePartSchema.extend({ bytes_ref: givenBytesRefSchema }),
  linkPartSchema,
  artifactPartSchema.extend({ bytes_ref: givenBytesRefSchema }),
  toolCallPartSchema,
  policyPartSchema.extend({ policy: policySchema.extend({ kind: z.enum([...requirementKinds, ...refusalKinds]) }) }),
])

const channelPartSchema = z.looseObject({ kind: z.enum(channelKinds) }) as unknown as typeof knownPartSchema

/** Any part that an agent gives. Unlike a part of a peer, it has a kind that the gateway knows. */
export const givenPartSchema: z.ZodType<Part, GivenPart> = z.union([
  knownGivenPartSchema,
  dataPartSchema.extend({ bytes_ref: z.never().optional() }).transform(completeDataPart),
  channelPartSchema,
])
