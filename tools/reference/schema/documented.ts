import { replySchema } from '../../../packages/agents/src/webhook/reply.ts'
import { identityEvidenceSchema } from '../../../packages/core/src/message/address/identity.ts'
import { agentActionSchema } from '../../../packages/core/src/message/agent-action.ts'
import { normalizedMessageSchema } from '../../../packages/core/src/message/message.ts'
import { knownPartSchema, policySchema } from '../../../packages/core/src/message/part.ts'
import { policyResolutionSchema } from '../../../packages/core/src/message/policy.ts'
import { normalizedResponseSchema, partialResponseSchema } from '../../../packages/core/src/message/response.ts'
import { tokenUsageSchema } from '../../../packages/core/src/message/token-usage.ts'
import type { Schema } from './bounds.ts'
import type { KeyComments, SchemaName } from './key-comments.ts'
import type { NamedSchemas } from './rows.ts'
import { formatSchemaTable } from './rows.ts'

const folder = 'packages/core/src/message'
const [text, file, link, artifact, toolCall, policy] = knownPartSchema.options
const [post, edit, deletion, reaction] = agentActionSchema.options

const at = (schema: Schema, path: string, name: string) => ({ schema, source: { file: `${folder}/${path}`, name } })

/** What an agent reads and what it answers, by the names of the types: each schema, and where the source declares it. */
export const documentedSchemas = {
  Policy: at(policySchema, 'part.ts', 'policySchema'),
  TextPart: at(text, 'part.ts', 'textPartSchema'),
  FilePart: at(file, 'part.ts', 'filePartSchema'),
  LinkPart: at(link, 'part.ts', 'linkPartSchema'),
  ArtifactPart: at(artifact, 'part.ts', 'artifactPartSchema'),
  ToolCallPart: at(toolCall, 'part.ts', 'toolCallPartSchema'),
  PolicyPart: at(policy, 'part.ts', 'policyPartSchema'),
  Part: at(knownPartSchema, 'part.ts', 'knownPartSchema'),
  IdentityEvidence: at(identityEvidenceSchema, 'address/identity.ts', 'identityEvidenceSchema'),
  PolicyResolution: at(policyResolutionSchema, 'policy.ts', 'policyResolutionSchema'),
  HistoricalMessage: at(
    normalizedMessageSchema.shape.history.unwrap().element,
    'message.ts',
    'historicalMessageSchema',
  ),
  NormalizedMessage: at(normalizedMessageSchema, 'message.ts', 'normalizedMessageSchema'),
  NormalizedResponse: at(normalizedResponseSchema, 'response.ts', 'normalizedResponseSchema'),
  PartialResponse: at(partialResponseSchema, 'response.ts', 'partialResponseSchema'),
  Post: at(post, 'agent-action.ts', 'agentPostSchema'),
  Edit: at(edit, 'agent-action.ts', 'agentEditSchema'),
  Delete: at(deletion, 'agent-action.ts', 'agentDeleteSchema'),
  Reaction: at(reaction, 'agent-action.ts', 'agentReactionSchema'),
  Action: at(agentActionSchema, 'agent-action.ts', 'agentActionSchema'),
  TokenUsage: at(tokenUsageSchema, 'token-usage.ts', 'tokenUsageSchema'),
  Reply: { schema: replySchema, source: { file: 'packages/agents/src/webhook/reply.ts', name: 'replySchema' } },
} as const satisfies Readonly<Record<string, { readonly schema: Schema; readonly source: SchemaName }>>

export type DocumentedName = keyof typeof documentedSchemas

/** The table of one of them. */
export function formatDocumented(
  name: DocumentedName,
  comments: Pick<KeyComments, 'find'>,
  named: NamedSchemas,
): string {
  const { schema, source } = documentedSchemas[name]
  return formatSchemaTable(schema, { comments, named, source })
}
