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
  Policy: 'A requirement of the agent before it acts, or the reason of a refusal.',
  TextPart: 'Text.',
  FilePart: 'A file.',
  LinkPart: 'A link.',
  ArtifactPart: 'A result of the agent’s work, separate from its text.',
  ToolCallPart: 'A call of a tool. The agent sends it twice under one id: when the call begins and when it ends.',
  PolicyPart: 'A requirement or a refusal.',
  Part: 'A part of a message. Unknown kinds are possible and stay unchanged.',
  DataPart: 'An artifact that an agent gives as JSON alone.',
  GivenPart: 'A part as an agent hands it over.',
  IdentityEvidence: 'A statement of a trusted party about the sender.',
  PolicyResolution: 'How a requirement was decided.',
  HistoricalMessage: 'A turn spoken earlier in the thread.',
  NormalizedMessage: 'The one message that every channel makes and every agent reads.',
  Post: 'A post to all who follow the agent.',
  FurtherReply: 'A further message in a conversation, without a message to answer.',
  Edit: 'Replaces the text of an earlier post or answer of the agent.',
  Delete: 'Deletes an earlier post or answer of the agent.',
  Reaction: 'A reaction to a message.',
  Action: 'What the agent does besides answering.',
  TokenUsage: 'The tokens that one model read and wrote.',
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
