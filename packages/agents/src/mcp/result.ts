import { Rejection } from '@postern/core'
import { z } from 'zod'

/** Content that a tool returns (MCP 2025-11-25, server/tools §Tool Result). */
const contentSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
  resource: z.looseObject({ uri: z.string(), text: z.string().optional(), mimeType: z.string().optional() }).optional(),
})

const resultSchema = z.looseObject({
  content: z.array(contentSchema).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

type Content = z.infer<typeof contentSchema>

/** Characters of an error that a model is told. */
const maxError = 2_000

/** What a model is told of a result: the structured one if there is one, else text. @throws Rejection when the tool says that it failed */
export function readToolResult(value: unknown): unknown {
  const { content, structuredContent, isError } = resultSchema.parse(value)
  const text = content.map(describeContent).join('\n')
  if (isError) throw new Rejection('malformed', text.slice(0, maxError) || 'The tool failed.')
  return structuredContent ?? text
}

/** Bytes are named only: a model reads text. */
function describeContent({ type, text, data, mimeType, uri, name, resource }: Content): string {
  if (type === 'text') return text ?? ''
  if (type === 'resource') return resource?.text ?? `[${resource?.uri}, ${resource?.mimeType ?? 'unknown type'}]`
  if (type === 'resource_link') return `[${name ?? 'a resource'}: ${uri}]`
  const bytes = Math.floor(((data?.length ?? 0) * 3) / 4)
  return `[${type}, ${mimeType ?? 'unknown type'}, ${bytes} bytes]`
}
