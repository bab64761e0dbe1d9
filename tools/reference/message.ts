import { channelModules } from '../../apps/gateway/src/channels.ts'
import { identityEvidenceSchema } from '../../packages/core/src/message/address/identity.ts'
import { agentActionSchema } from '../../packages/core/src/message/agent-action.ts'
import { normalizedMessageSchema } from '../../packages/core/src/message/message.ts'
import { knownPartSchema, partSchema, policySchema, traceSchema } from '../../packages/core/src/message/part.ts'
import { refusalKinds, requirementKinds } from '../../packages/core/src/message/policy/policy-kinds.ts'
import { policyResolutionSchema } from '../../packages/core/src/message/policy/policy-resolution.ts'
import { normalizedResponseSchema, partialResponseSchema } from '../../packages/core/src/message/response.ts'
import { tokenUsageSchema } from '../../packages/core/src/message/token-usage.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from './markdown.ts'
import { messageFacts } from './message-facts.ts'
import type { Schema } from './schema/bounds.ts'
import type { KeyComments } from './schema/key-comments.ts'
import type { NamedSchemas } from './schema/rows.ts'
import { formatSchemaTable } from './schema/table.ts'

const folder = 'packages/core/src/message'
const historySchema = normalizedMessageSchema.shape.history.unwrap().element

/** Schemas with a section of their own. */
const sections: NamedSchemas = new Map<Schema, string>([
  [partSchema, '[Part](#parts)'],
  [traceSchema.element, '[tool_call](#tool_call)'],
  [policySchema, '[PolicyPart](#policypart)'],
  [historySchema, '[HistoricalMessage](#historicalmessage)'],
  [identityEvidenceSchema, '[IdentityEvidence](#identityevidence)'],
  [policyResolutionSchema, '[PolicyResolution](#policyresolution)'],
  [agentActionSchema, '[Action](#action)'],
  [tokenUsageSchema, '[TokenUsage](#tokenusage)'],
])

const partNames = ['text', 'file', 'link', 'artifact', 'tool_call', 'policy'] as const

/** docs/reference/message.md */
export function describeMessage(comments: Pick<KeyComments, 'find'>): string {
  const named = sections
  const table = (schema: Schema, file: string, name: string) =>
    formatSchemaTable(schema, { comments, named, source: { file: `${folder}/${file}`, name } })
  return formatPage('Message reference', [
    messageFacts.intro,
    '## NormalizedMessage',
    table(normalizedMessageSchema, 'message.ts', 'normalizedMessageSchema'),
    '### Rules',
    messageFacts.rules,
    '### HistoricalMessage',
    table(historySchema, 'message.ts', 'historicalMessageSchema'),
    '## Channels',
    describeChannels(),
    messageFacts.wires,
    '## Parts',
    ...describeParts(comments),
    '## PolicyPart',
    messageFacts.policy,
    `Kinds that somebody can decide: ${listCodes(requirementKinds)}. Kinds that are refusals: ${listCodes(refusalKinds)}. The gateway keeps other kinds, and they never mean success.`,
    table(policySchema, 'part.ts', 'policySchema'),
    '### PolicyResolution',
    table(policyResolutionSchema, 'policy/policy-resolution.ts', 'policyResolutionSchema'),
    '## IdentityEvidence',
    messageFacts.evidence,
    table(identityEvidenceSchema, 'address/identity.ts', 'identityEvidenceSchema'),
  ])
}

/** docs/reference/response.md */
export function describeResponsePage(comments: Pick<KeyComments, 'find'>): string {
  const named: NamedSchemas = new Map(
    [...sections].map(([schema, link]) => [
      schema,
      link.replace('(#', '(message.md#').replace(/message\.md(#action|#tokenusage)/, '$1'),
    ]),
  )
  const table = (schema: Schema, file: string, name: string) =>
    formatSchemaTable(schema, { comments, named, source: { file: `${folder}/${file}`, name } })
  return formatPage('Response', [
    messageFacts.response,
    '## NormalizedResponse',
    table(normalizedResponseSchema, 'response.ts', 'normalizedResponseSchema'),
    '## What an agent may return',
    table(partialResponseSchema, 'response.ts', 'partialResponseSchema'),
    '## Action',
    table(agentActionSchema, 'agent-action.ts', 'agentActionSchema'),
    '## TokenUsage',
    table(tokenUsageSchema, 'token-usage.ts', 'tokenUsageSchema'),
  ])
}

function describeParts(comments: Pick<KeyComments, 'find'>): readonly string[] {
  return partNames.flatMap(kind => {
    const schema = knownPartSchema.options.find(({ shape }) => shape.kind.value === kind)
    if (!schema) throw new Error(`Cannot describe parts of the kind ${kind}: there is no schema`)
    const source = { file: `${folder}/part.ts`, name: `${kind === 'tool_call' ? 'toolCall' : kind}PartSchema` }
    return [`### \`${kind}\``, formatSchemaTable(schema, { comments, named: sections, source })]
  })
}

function describeChannels(): string {
  const rows = channelModules.map(({ descriptor: { name, authMethods, mentionRelay } }) => [
    formatInlineCode(name),
    listCodes(authMethods),
    formatInlineCode(JSON.stringify(mentionRelay)),
  ])
  return formatMarkdownTable(['`received_via`', '`auth_method`, beside `none`', '`mention_relay`'], rows)
}

const listCodes = (words: readonly string[]) => words.map(formatInlineCode).join(', ')
