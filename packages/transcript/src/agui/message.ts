import type { Json } from '@postern/core'
import { z } from 'zod'
import type { JsonMap } from '../json/difference.ts'
import { parseForeign } from '../json/parse-foreign.ts'
import { jsonMapSchema } from '../json/schema.ts'

const common = { id: z.string(), name: z.string().optional(), metadata: jsonMapSchema.optional() }

const sourceSchema = z.union([
  z.looseObject({ type: z.literal('data'), value: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal('url'), value: z.string(), mimeType: z.string().optional() }),
  z.looseObject({ type: z.literal('file'), value: z.string(), mimeType: z.string().optional() }),
])
const mediaSchema = z.looseObject({ type: z.enum(['image', 'audio', 'video', 'document']), source: sourceSchema })
const textSchema = z.looseObject({ type: z.literal('text'), text: z.string() })
/** An uploaded file by its signed address. It is not of AG-UI 1.0, but of the older chat format. */
const binarySchema = z.looseObject({
  type: z.literal('binary'),
  mimeType: z.string(),
  url: z.string().optional(),
  data: z.string().optional(),
  id: z.string().optional(),
  filename: z.string().optional(),
})
const aguiPartSchema = z.union([textSchema, mediaSchema, binarySchema])
const contentSchema = z.union([z.string(), z.array(aguiPartSchema)])

const aguiToolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
})

const aguiMessageSchema = z.discriminatedUnion('role', [
  z.looseObject({ ...common, role: z.literal('user'), content: contentSchema }),
  z.looseObject({
    ...common,
    role: z.literal('assistant'),
    content: z.string().optional(),
    toolCalls: z.array(aguiToolCallSchema).optional(),
  }),
  z.looseObject({ ...common, role: z.literal('system'), content: z.string() }),
  z.looseObject({ ...common, role: z.literal('developer'), content: z.string() }),
  z.looseObject({
    ...common,
    role: z.literal('tool'),
    toolCallId: z.string(),
    content: contentSchema,
    error: z.string().optional(),
  }),
  z.looseObject({ ...common, role: z.literal('activity'), activityType: z.string(), content: jsonMapSchema }),
  z.looseObject({ ...common, role: z.literal('reasoning'), content: z.string() }),
])

export type AguiPart = z.infer<typeof aguiPartSchema>
export type AguiRole = z.infer<typeof aguiMessageSchema>['role']
export type AguiToolCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}
/** A message of AG-UI 1.0 or of the older chat format. Its role determines its other members. */
export type AguiMessage = {
  readonly id: string
  readonly role: AguiRole
  readonly name?: string | undefined
  readonly content?: Json | undefined
  readonly toolCalls?: readonly AguiToolCall[] | undefined
  readonly toolCallId?: string | undefined
  readonly error?: string | undefined
  readonly activityType?: string | undefined
  readonly metadata?: JsonMap | undefined
}

/** @throws Rejection malformed, naming the member */
export function parseAguiMessage(value: unknown): AguiMessage {
  return parseForeign(aguiMessageSchema as unknown as z.ZodType<AguiMessage>, value, 'AG-UI message')
}
