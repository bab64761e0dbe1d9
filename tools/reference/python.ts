// Writes the Python types of messages and answers from the message schemas.
import { identityEvidenceSchema } from '../../packages/message/src/message/identity/identity.ts'
import { normalizedMessageSchema } from '../../packages/message/src/message/message.ts'
import {
  givenPartSchema,
  knownPartSchema,
  partSchema,
  policySchema,
  traceSchema,
} from '../../packages/message/src/message/part.ts'
import type { Schema } from './schema/bounds.ts'
import type { DocumentedName } from './schema/documented.ts'
import { documentedSchemas } from './schema/documented.ts'
import type { KeyComments } from './schema/key-comments.ts'
import { formatPythonTypes } from './schema/python-types.ts'

const { sender, recipient_capabilities, history, merged } = normalizedMessageSchema.shape
const historySchema = history.unwrap().element

/** The names of types with their own section. Other types take their names from their positions. */
const typeNames: ReadonlyMap<Schema, string> = new Map<Schema, string>([
  [partSchema, 'Part'],
  [policySchema, 'Policy'],
  [givenPartSchema, 'GivenPart'],
  [traceSchema.element, 'ToolCallPart'],
  [knownPartSchema.options[1].shape.bytes_ref, 'BytesRef'],
  [identityEvidenceSchema.shape.proof, 'IdentityProof'],
  [sender, 'Sender'],
  [recipient_capabilities, 'RecipientCapabilities'],
  [recipient_capabilities.shape.mention_relay, 'MentionRelay'],
  [recipient_capabilities.shape.agent_chain.unwrap(), 'AgentChain'],
  [historySchema.shape.sender, 'HistoricalSender'],
  [merged.unwrap().element, 'MergedMessage'],
])

/** A sentence for each type. Types of parts and actions follow the order of their schemas. */
const sentences = {
  Policy: 'What is required before the agent goes on, or why it refuses.',
  TextPart: 'Text.',
  FilePart: 'A file.',
  LinkPart: 'A link.',
  ArtifactPart: 'A result that is a thing of its own.',
  ToolCallPart: 'A call of a tool; it comes twice under one id, when it begins and when it ends.',
  PolicyPart: 'A requirement or a refusal.',
  Part: 'Something that is said. Parts of other kinds may come, too; they are kept as they are.',
  DataPart: 'An artifact that an agent gives as JSON alone.',
  GivenPart: 'A part as an agent hands it over.',
  IdentityEvidence: 'A statement of a trusted party about the sender.',
  PolicyResolution: 'How a requirement was decided.',
  HistoricalMessage: 'A turn spoken earlier in the thread.',
  NormalizedMessage: 'The one message that every channel makes and every agent reads.',
  Post: 'A post to all who follow the agent.',
  FurtherReply: 'Further words in a conversation, without a message to answer.',
  Edit: 'Other words for something the agent said.',
  Delete: 'Takes back something the agent said.',
  Reaction: 'A reaction to a message.',
  Action: 'What the agent does besides answering.',
  TokenUsage: 'What one model was given and said, in tokens.',
  Reply: 'What a webhook may answer: `text` or `parts`, and what else it decides.',
} as const satisfies Partial<Record<DocumentedName, string>>

const head = `"""What an agent reads and what it answers.

Written by \`npm run reference -- --write\` from the schemas of the gateway; a test compares. Change the schemas, not this file.
"""

from typing import Any, Literal, NotRequired, TypedDict


`

/** Writes clients/python/postern_agent/types.py. */
export function describePythonTypes(comments: Pick<KeyComments, 'findComment'>): string {
  const roots = Object.entries(sentences).map(([name, sentence]) => {
    return { name, sentence, ...documentedSchemas[name as keyof typeof sentences] }
  })
  return `${head}${formatPythonTypes(roots, typeNames, comments)}\n`
}
