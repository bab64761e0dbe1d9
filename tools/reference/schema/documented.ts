// Lists the message schemas that the reference documents, with their source files.
import { z } from 'zod'
import { replySchema } from '../../../packages/agents/src/webhook/reply.ts'
import { agentActionSchema } from '../../../packages/message/src/message/actions/agent-action.ts'
import { identityEvidenceSchema } from '../../../packages/message/src/message/identity/identity.ts'
import { normalizedMessageSchema } from '../../../packages/message/src/message/message.ts'
import { dataPartSchema, knownPartSchema, policySchema } from '../../../packages/message/src/message/part.ts'
import { policyResolutionSchema } from '../../../packages/message/src/message/policy/policy.ts'
import { normalizedResponseSchema, partialResponseSchema } from '../../../packages/message/src/message/response.ts'
import { tokenUsageSchema } from '../../../packages/message/src/message/token-usage.ts'
import { consentSchema, priceSchema } from '../../../packages/pipeline/src/ports/agent/agent-requirements.ts'
import type { Schema } from './bounds.ts'
import type { KeyComments, SchemaName } from './key-comments.ts'
import type { NamedSchemas } from './rows.ts'
import { formatSchemaTable } from './rows.ts'

/** A policy with the members of each kind of question, and the members that the gateway adds. */
const wholePolicySchema = policySchema.extend({
  ...consentSchema.pick({ expires_in: true, approver: true, sender_message: true, notify: true }).shape,
  ...priceSchema.partial().shape,
  /** Public id of the question, made by the gateway. */
  requirement: z.string().optional(),
  /** The decision is due then, ISO 8601; made by the gateway. */
  expires_at: z.string().optional(),
})

const folder = 'packages/message/src/message'
const [text, file, link, artifact, toolCall, policy] = knownPartSchema.options
const [postAction, furtherPostAction, editAction, deletionAction, reactionAction] = agentActionSchema.options

const documentSchema = (schema: Schema, path: string, name: string) => ({
  schema,
  source: { file: `${folder}/${path}`, name },
})

/** Schemas of messages and answers by the names of their types, each with its source. */
export const documentedSchemas = {
  Policy: {
    schema: wholePolicySchema,
    source: { file: 'tools/reference/schema/documented.ts', name: 'wholePolicySchema' },
  },
  TextPart: documentSchema(text, 'part.ts', 'textPartSchema'),
  FilePart: documentSchema(file, 'part.ts', 'filePartSchema'),
  LinkPart: documentSchema(link, 'part.ts', 'linkPartSchema'),
  ArtifactPart: documentSchema(artifact, 'part.ts', 'artifactPartSchema'),
  ToolCallPart: documentSchema(toolCall, 'part.ts', 'toolCallPartSchema'),
  PolicyPart: documentSchema(policy, 'part.ts', 'policyPartSchema'),
  Part: documentSchema(knownPartSchema, 'part.ts', 'knownPartSchema'),
  DataPart: documentSchema(dataPartSchema, 'part.ts', 'dataPartSchema'),
  GivenPart: documentSchema(z.union([knownPartSchema, dataPartSchema]), 'part.ts', 'givenPartSchema'),
  IdentityEvidence: documentSchema(identityEvidenceSchema, 'identity/identity.ts', 'identityEvidenceSchema'),
  PolicyResolution: documentSchema(policyResolutionSchema, 'policy/policy.ts', 'policyResolutionSchema'),
  HistoricalMessage: documentSchema(
    normalizedMessageSchema.shape.history.unwrap().element,
    'message.ts',
    'historicalMessageSchema',
  ),
  NormalizedMessage: documentSchema(normalizedMessageSchema, 'message.ts', 'normalizedMessageSchema'),
  NormalizedResponse: documentSchema(normalizedResponseSchema, 'response.ts', 'normalizedResponseSchema'),
  PartialResponse: documentSchema(partialResponseSchema, 'response.ts', 'partialResponseSchema'),
  Post: documentSchema(postAction, 'actions/agent-action.ts', 'agentPostSchema'),
  FurtherReply: documentSchema(furtherPostAction, 'actions/agent-action.ts', 'agentReplySchema'),
  Edit: documentSchema(editAction, 'actions/agent-action.ts', 'agentEditSchema'),
  Delete: documentSchema(deletionAction, 'actions/agent-action.ts', 'agentDeleteSchema'),
  Reaction: documentSchema(reactionAction, 'actions/agent-action.ts', 'agentReactionSchema'),
  Action: documentSchema(agentActionSchema, 'actions/agent-action.ts', 'agentActionSchema'),
  TokenUsage: documentSchema(tokenUsageSchema, 'token-usage.ts', 'tokenUsageSchema'),
  Reply: { schema: replySchema, source: { file: 'packages/agents/src/webhook/reply.ts', name: 'replySchema' } },
} as const satisfies Readonly<Record<string, { readonly schema: Schema; readonly source: SchemaName }>>

export type DocumentedName = keyof typeof documentedSchemas

/** Formats the table of a documented schema. */
export function formatDocumented(
  name: DocumentedName,
  comments: Pick<KeyComments, 'findComment'>,
  namedSchemas: NamedSchemas,
): string {
  const { schema, source } = documentedSchemas[name]
  return formatSchemaTable(schema, { comments, namedSchemas, source })
}
